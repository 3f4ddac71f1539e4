use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::commands::{
    apply, attach, bench, commit, completion, container_prune, cp, create, df, diff, discard,
    doctor, exec, fork, fs, history, image, images, inspect, jobs, kill, limits, load, login,
    logout, logs, maintain, man, network, pause, port, prune, ps, pull, push, rename, restart, rm,
    rollback, run, save, share, snapshot, start, stats, stop, system_prune, tag, top, update,
    version, vmm, volume, wait,
};

/// Run any OCI image in a microVM.
///
/// The image's layers become read-only EROFS images that the guest's own kernel mounts; what the
/// command writes goes to an ext4 disk of its own. No daemon, no root, no FUSE.
#[derive(Debug, Parser)]
#[command(name = "msb", version, max_term_width = 100, propagate_version = false)]
// As docker has it, the last of several counts: what a script says can be said otherwise behind it.
#[command(disable_version_flag = true, args_override_self = true)]
#[command(after_help = "Examples:\n  \
msb run --rm alpine echo hello      pull alpine if necessary, run a command, print its output\n  \
msb run --rm -it debian bash        an interactive shell\n  \
msb load -t app:dev image.tar       take an image from `docker save` or an OCI archive\n  \
msb doctor                          whether this host can run sandboxes\n  \
msb help limits                     limits on the cost of an image")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArguments,
    /// Print version
    #[arg(short = 'V', short_alias = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading in help of the options that every command has, below the command's own options.
pub(crate) const GLOBAL_HEADING: &str = "Global options";

// The commands that msb starts its own processes with. Users do not type such names, and clap
// suggests them for no typing mistake.
/// The command that runs a virtual machine.
pub(crate) const VMM_COMMAND: &str = "__vmm";
/// The command that serves a sandbox's network.
pub(crate) const NETWORK_COMMAND: &str = "__network";
/// The command that serves a shared directory.
pub(crate) const SHARE_COMMAND: &str = "__share";
/// The command that takes digests of a sandbox's snapshots and merges generations, in the background.
pub(crate) const MAINTAIN_COMMAND: &str = "__maintain";

/// Returns true if a command line, without the program's name, is that of a process that msb starts by
/// itself. Only options may stand before the command.
pub(crate) fn is_internal(mut words: impl Iterator<Item = OsString>) -> bool {
    while let Some(word) = words.next() {
        if word == "--home" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return [
                VMM_COMMAND,
                NETWORK_COMMAND,
                SHARE_COMMAND,
                MAINTAIN_COMMAND,
            ]
            .iter()
            .any(|name| word == *name);
        }
    }
    false
}

// The options that every command has.
#[derive(Debug, Args)]
pub(crate) struct GlobalArguments {
    /// Directory of images, kernels and sandboxes [default: ~/.msb]
    #[arg(long, env = "MSB_HOME", global = true, value_name = "DIR", help_heading = GLOBAL_HEADING)]
    pub(crate) home: Option<PathBuf>,
    /// Show no progress and no notices; commands that list print only ids or names
    #[arg(short, long, global = true, help_heading = GLOBAL_HEADING)]
    pub(crate) quiet: bool,
}

// A process builds only the command that was typed. A doc comment on a command's arguments would
// replace the help text that is given here, so they have plain comments.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Download images from a registry
    Pull(pull::Arguments),
    /// Take an image from an OCI layout, an OCI archive or a docker archive
    Load(load::Arguments),
    /// Upload an image to a registry
    Push(push::Arguments),
    /// Log in to a registry
    Login(login::Arguments),
    /// Remove the password of a registry
    Logout(logout::Arguments),
    #[command(flatten)]
    Sandbox(SandboxCommand),
    /// Write images to an archive, as docker save does
    Save(save::Arguments),
    /// Give an image a further name
    Tag(tag::Arguments),
    /// Show the steps in which an image was made
    History(history::Arguments),
    /// List images
    Images(images::Arguments),
    /// Inspect, verify and remove images
    Image(image::Arguments),
    /// Create, list and remove volumes: disks that outlive sandboxes
    Volume(volume::Arguments),
    /// Remove images that no sandbox uses, and leftovers of killed processes
    Prune(prune::Arguments),
    /// Show how much disk space images, sandboxes and volumes use
    Df(df::Arguments),
    /// Check whether this host can run sandboxes, and advise on problems
    Doctor(doctor::Arguments),
    /// Measure the costs of msb on this host, and compare them with lower bounds
    Bench(bench::Arguments),
    /// Print versions
    Version(version::Arguments),
    /// Print a completion script for a shell
    Completion(completion::Arguments),
    /// Limits on the cost of an image, and their options
    #[command(hide = true)]
    Limits(limits::Arguments),
    /// Write the manual pages of all commands to a directory
    #[command(hide = true)]
    Man(man::Arguments),
    /// Commands for sandboxes, as docker groups them
    #[command(subcommand, hide = true)]
    Container(ContainerCommand),
    /// Remove images, as docker rmi does
    #[command(hide = true)]
    Rmi(image::RemoveArguments),
    /// Commands for images, sandboxes and volumes together, as docker groups them
    #[command(subcommand, hide = true)]
    System(SystemCommand),
    /// The process that a virtual machine runs in
    #[command(name = VMM_COMMAND, hide = true)]
    Vmm(vmm::Arguments),
    /// The process that a sandbox's network is
    #[command(name = NETWORK_COMMAND, hide = true)]
    Network(network::Arguments),
    /// The process that serves a shared directory
    #[command(name = SHARE_COMMAND, hide = true)]
    Share(share::Arguments),
    /// The process that maintains a sandbox's snapshots
    #[command(name = MAINTAIN_COMMAND, hide = true)]
    Maintain(maintain::Arguments),
}

/// The commands for sandboxes.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SandboxCommand {
    /// Create a sandbox of an image and run a command in it
    Run(Box<run::Arguments>),
    /// Create a sandbox of an image without starting it
    Create(Box<create::Arguments>),
    /// Start sandboxes that are not running
    Start(start::Arguments),
    /// Stop sandboxes and start them again
    Restart(restart::Arguments),
    /// Attach to the command that a sandbox was created for
    Attach(attach::Arguments),
    /// Run a command in a running sandbox
    Exec(exec::Arguments),
    /// Stop running sandboxes; their files are kept
    Stop(stop::Arguments),
    /// Kill running sandboxes, as a power cut would, or signal their commands
    Kill(kill::Arguments),
    /// Freeze the processes of running sandboxes
    Pause(pause::Arguments),
    /// Let the processes of paused sandboxes go on
    Unpause(pause::UnpauseArguments),
    /// Wait until sandboxes have stopped, and print their commands' exit codes
    Wait(wait::Arguments),
    /// Print the output of a sandbox's command, or of a job
    Logs(logs::Arguments),
    /// List the jobs of a sandbox: the commands that msb exec -d started
    Jobs(jobs::Arguments),
    /// List the processes of a sandbox
    Top(top::Arguments),
    /// Copy files between this host and a sandbox
    Cp(cp::Arguments),
    /// Show the changes of a sandbox's files, or the differences of sandboxes and images
    Diff(diff::Arguments),
    /// Put changes of a sandbox's files into a directory of this host
    Apply(apply::Arguments),
    /// Make an image of a sandbox's changes
    Commit(commit::Arguments),
    /// Take back changes of a stopped sandbox's files
    Discard(discard::Arguments),
    /// Take, list and remove snapshots of sandboxes
    Snapshot(snapshot::Arguments),
    /// Go back to a snapshot
    Rollback(rollback::Arguments),
    /// Make sandboxes that begin with the files of another one
    Fork(fork::Arguments),
    /// List, read and change a sandbox's files
    Fs(fs::Arguments),
    /// Show the resources that running sandboxes use, updated every second
    Stats(stats::Arguments),
    /// List running sandboxes
    Ps(ps::Arguments),
    /// List all sandboxes
    #[command(visible_alias = "list")]
    Ls(ps::Arguments),
    /// Print the ports of the host that lead into a sandbox
    Port(port::Arguments),
    /// Print everything about sandboxes, images or volumes, as JSON
    Inspect(inspect::Arguments),
    /// Change the disk size, processors or memory of sandboxes, from their next start on
    Update(update::Arguments),
    /// Give a sandbox another name
    Rename(rename::Arguments),
    /// Remove sandboxes that are not running
    Rm(rm::Arguments),
}

/// `msb container`.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ContainerCommand {
    #[command(flatten)]
    Sandbox(SandboxCommand),
    /// Remove every sandbox that is not running
    Prune(container_prune::Arguments),
}

/// `msb system`.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SystemCommand {
    /// Show how much disk space images, sandboxes and volumes use
    Df(df::Arguments),
    /// Remove sandboxes that are not running, images that no sandbox uses, and leftovers
    Prune(system_prune::Arguments),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn a_process_of_a_machine_is_known_by_its_command() {
        let known = |line: &str| is_internal(line.split(' ').map(OsString::from));
        assert!(known("--home /h __vmm --qemu q /d"));
        assert!(known("--home=/h -q __network /d"));
        assert!(known("__share /d 0"));
        assert!(known("--home /h __maintain 0f"));
        assert!(!known("exec name __vmm"));
        assert!(!known("--home __vmm ps"));
        assert!(!known("--home"));
    }

    #[test]
    fn a_command_says_of_itself_what_it_is_listed_with() {
        let abouts = |command: &clap::Command| -> Vec<String> {
            command
                .get_subcommands()
                .map(|each| format!("{}: {:?}", each.get_name(), each.get_about()))
                .collect()
        };
        let mut command = Arguments::command();
        let listed = abouts(&command);
        command.build();
        let built: Vec<String> = abouts(&command)
            .into_iter()
            .filter(|each| !each.starts_with("help:"))
            .collect();
        assert_eq!(built, listed);
        command.debug_assert();
    }
}
