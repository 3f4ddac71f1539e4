use std::path::PathBuf;

use clap::{ArgAction, Args, CommandFactory as _, Parser, Subcommand};

use crate::commands::{
    allow, apply, asks, attach, bench, command_history, commit, completion, container_prune, cp,
    create, df, diff, discard, doctor, exec, fork, fs, image, images, inspect, jobs, kill, limits,
    load, login, logout, logs, maintain, man, mcp, network, network_rules, pause, port, prune, ps,
    pull, push, rename, restage, restart, rm, rollback, run, save, secret, share, snapshot,
    sockets, ssh, start, stats, stop, system_prune, tag, top, undo, update, version, vmm, volume,
    wait,
};
use crate::internal::{
    MAINTAIN_COMMAND, NETWORK_COMMAND, SECRETS_COMMAND, SHARE_COMMAND, SOCKETS_COMMAND, VMM_COMMAND,
};

/// Run any OCI image in a microVM.
///
/// The image's layers become read-only EROFS images, which the guest's kernel mounts. Changes by
/// the command go to a separate ext4 disk. No daemon, no root, no FUSE.
#[derive(Debug, Parser)]
#[command(name = "msb", version, max_term_width = 100, propagate_version = false)]
// As docker has it, the last of several counts: what a script says can be said otherwise behind it.
#[command(disable_version_flag = true, args_override_self = true)]
#[command(after_help = "Examples:\n  \
msb run --rm alpine echo hello      pull alpine if necessary, run a command, print its output\n  \
msb run --rm -it debian bash        an interactive shell\n  \
msb load -t app:dev image.tar       load an image from `docker save` or an OCI archive\n  \
msb doctor                          check whether this host can run sandboxes\n  \
msb help limits                     the limits on images")]
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
    /// Load an image from an OCI layout, an OCI archive or a docker archive
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
    /// Add a name to an image
    Tag(tag::Arguments),
    /// List the commands that were run in a sandbox, or the steps that built an image
    History(command_history::Arguments),
    /// List images
    Images(images::Arguments),
    /// Inspect, verify and remove images
    Image(image::Arguments),
    /// Create, list and remove volumes: disks that outlive sandboxes
    #[command(alias = "volumes")]
    Volume(volume::Arguments),
    /// Remove images that no sandbox uses, and leftovers of killed processes
    Prune(prune::Arguments),
    /// Show how much disk space images, sandboxes and volumes use
    Df(df::Arguments),
    /// Check whether this host can run sandboxes, and advise on problems
    Doctor(doctor::Arguments),
    /// Measure the costs of msb on this host, and compare them with lower bounds
    Bench(bench::Arguments),
    /// Serve sandboxes as tools to an MCP client, over standard input and output
    Mcp(Box<mcp::Arguments>),
    /// Open a shell in a sandbox, or run a command, with the OpenSSH client of this host
    Ssh(ssh::Arguments),
    /// Print the configuration by which ssh, scp, sftp and editors reach sandboxes
    SshConfig(ssh::ConfigArguments),
    /// Serve a sandbox to an SSH client, over standard input and output
    SshProxy(ssh::ProxyArguments),
    /// Print versions
    Version(version::Arguments),
    /// Print a completion script for a shell
    Completion(completion::Arguments),
    /// List the limits on images and their defaults
    #[command(hide = true)]
    Limits(limits::Arguments),
    /// Write the manual pages of all commands to a directory
    #[command(hide = true)]
    Man(man::Arguments),
    /// Manage sandboxes
    #[command(subcommand, hide = true)]
    Container(ContainerCommand),
    /// Remove images, as docker rmi does
    #[command(hide = true)]
    Rmi(image::RemoveArguments),
    /// Manage images, sandboxes and volumes
    #[command(subcommand, hide = true)]
    System(SystemCommand),
    /// Run a sandbox's virtual machine (internal)
    #[command(name = VMM_COMMAND, hide = true)]
    Vmm(vmm::Arguments),
    /// Serve a sandbox's network (internal)
    #[command(name = NETWORK_COMMAND, hide = true)]
    Network(network::Arguments),
    /// Serve a shared directory (internal)
    #[command(name = SHARE_COMMAND, hide = true)]
    Share(share::Arguments),
    /// Maintain a sandbox's snapshots, or the store of images (internal)
    #[command(name = MAINTAIN_COMMAND, hide = true)]
    Maintain(maintain::Arguments),
    /// Read the sources of a sandbox's secrets again (internal)
    #[command(name = SECRETS_COMMAND, hide = true)]
    Secrets(secret::RefreshArguments),
    /// Forward sockets of the host (internal)
    #[command(name = SOCKETS_COMMAND, hide = true)]
    Sockets(sockets::Arguments),
}

/// The commands for sandboxes.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SandboxCommand {
    /// Create a sandbox from an image and run a command in it
    Run(Box<run::Arguments>),
    /// Create a sandbox from an image without starting it
    Create(Box<create::Arguments>),
    /// Start sandboxes that are not running
    Start(start::Arguments),
    /// Stop sandboxes and start them again
    Restart(restart::Arguments),
    /// Attach to a sandbox's main command
    Attach(attach::Arguments),
    /// Run a command in a running sandbox
    Exec(exec::Arguments),
    /// Stop running sandboxes; their files are kept
    Stop(stop::Arguments),
    /// Kill running sandboxes, like a power cut, or send a signal to their commands
    Kill(kill::Arguments),
    /// Freeze the processes of running sandboxes
    Pause(pause::Arguments),
    /// Resume paused sandboxes
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
    /// Show a sandbox's file changes, or compare sandboxes and images
    Diff(diff::Arguments),
    /// Apply a sandbox's file changes to a local directory
    Apply(apply::Arguments),
    /// Create an image from a sandbox's changes
    Commit(commit::Arguments),
    /// Undo file changes in a stopped sandbox
    Discard(discard::Arguments),
    /// Change the rule of a path in a staged directory, and let its files in
    Allow(allow::Arguments),
    /// Answer the questions of a sandbox for hidden files and denied destinations
    Asks(asks::Arguments),
    /// Show and change the rules of a sandbox's network
    Network(network_rules::Arguments),
    /// List, change and remove a sandbox's secrets
    #[command(alias = "secrets")]
    Secret(secret::Arguments),
    /// Give a stopped sandbox the newer files of its staged directories
    Restage(restage::Arguments),
    /// Take, list and remove snapshots of sandboxes
    #[command(alias = "snapshots")]
    Snapshot(snapshot::Arguments),
    /// Roll a sandbox back to a snapshot
    Rollback(rollback::Arguments),
    /// Undo the last commands in a sandbox that have a snapshot
    Undo(undo::Arguments),
    /// Create sandboxes from the files of another sandbox
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
    /// Print the host addresses of a sandbox's published ports
    Port(port::Arguments),
    /// Print the details of sandboxes, images or volumes as JSON
    Inspect(inspect::Arguments),
    /// Change the disk size, processors or memory of sandboxes for their next start
    Update(update::Arguments),
    /// Rename a sandbox
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

/// Returns every command, with its help in order. In a command that is built late, the global
/// options would come first, before its own headings.
pub(crate) fn ordered() -> clap::Command {
    let command = sandboxes_in_order(Arguments::command());
    let command = command.mut_subcommand("container", sandboxes_in_order);
    command.mut_subcommand("mcp", |command| {
        mcp::Arguments::augment_args(at_once(command))
    })
}

/// Removes the deferred part of a command's construction.
fn at_once(command: clap::Command) -> clap::Command {
    command.defer(|command| command)
}

fn sandboxes_in_order(group: clap::Command) -> clap::Command {
    group
        .mut_subcommand("run", |command| {
            run::Arguments::augment_args(at_once(command))
        })
        .mut_subcommand("create", |command| {
            create::Arguments::augment_args(at_once(command))
        })
        .mut_subcommand("ls", |command| {
            let command = ps::Arguments::augment_args(at_once(command));
            // The option is accepted for compatibility with Docker; `ls` lists all sandboxes
            // anyway.
            command.mut_arg("all", |argument| argument.hide(true))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

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
