use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use msb_sdk::{
    DISK_DEFAULT_TEXT, Error, MEMORY_DEFAULT_TEXT, RootDisk, Sandbox, SandboxOptions,
    SandboxRequest, Size, Text,
};

use super::guest::GuestArguments;
use super::guest_limits::GuestLimitArguments;
use super::id_file::IdFile;
use super::network::NetworkArguments;
use super::patches::PatchArguments;
use super::process::ProcessArguments;
use super::resources::{parse_cpus, parse_memory};
use super::stopping::StoppingArguments;
use super::volume::MountArguments;
use super::{Context, pull};
use crate::docker::NeedlessOptions;
use msb_terminal::failure::{Failure, Interrupted, Outcome};
use msb_terminal::option_values::{Duration, Label, Restart};
use msb_terminal::output;
use msb_terminal::progress::Bars;

// Arguments of `msb create`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "msb create [OPTIONS] IMAGE [COMMAND] [ARG]...\n       msb create [OPTIONS] --from SANDBOX[@NAME] [COMMAND] [ARG]...\n       msb create [OPTIONS] --root-disk FILE [COMMAND] [ARG]...",
    after_help = "Takes the same options as msb run; msb start starts the sandbox. msb help create explains each \
    option in full, and docs/cli.md lists the documents about them.\n\n\
    Examples:\n  \
    msb create --name work -it debian bash; msb start -ai work\n  \
    msb create --name box --no-command python:3-slim; msb start box; msb exec box python3 -V"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) sandbox: SandboxArguments,
}

// The options that describe a sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct SandboxArguments {
    #[command(flatten)]
    pub(crate) process: ProcessArguments,
    /// Program to run instead of the image's Entrypoint
    #[arg(long, value_name = "PROGRAM")]
    entrypoint: Option<String>,
    /// Run no command: the sandbox runs until it is stopped
    ///
    /// Commands are run in it with msb exec.
    #[arg(long, conflicts_with_all = ["entrypoint", "interactive", "tty"])]
    pub(crate) no_command: bool,
    /// Remove the sandbox once the command has ended
    ///
    /// In the guest, fsync returns at once, except on volumes.
    #[arg(long, conflicts_with = "restart")]
    pub(crate) rm: bool,
    /// Name of the sandbox [default: its id]
    #[arg(long)]
    name: Option<String>,
    /// Write the sandbox's id to a new file
    #[arg(long, value_name = "FILE")]
    cidfile: Option<PathBuf>,
    /// Label of the sandbox, for msb ps --filter label=KEY
    #[arg(short, long, value_name = "KEY[=VALUE]")]
    label: Vec<Label>,
    /// Restart policy of the command: no, on-failure[:RETRIES] or always
    ///
    /// The command is started again in the same machine.
    #[arg(long, value_name = "POLICY", default_value = "no")]
    restart: Restart,
    /// Stop the sandbox this long after its start, such as 2h30m
    ///
    /// Its exit code is then 124.
    #[arg(long, value_name = "TIME")]
    max_duration: Option<Duration>,
    /// Stop the sandbox when it has not been used for this long
    ///
    /// It is in use while a client is connected or a job runs. Its exit code is then 124.
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<Duration>,
    /// Size of the writable disk
    ///
    /// The disk is sparse: it uses only the space that is written.
    #[arg(long, value_name = "SIZE", default_value = DISK_DEFAULT_TEXT, value_parser = output::parse_size, help_heading = "Machine")]
    upper_size: u64,
    /// Use the files of a sandbox or its snapshot instead of IMAGE
    ///
    /// The new sandbox has the same image, and shares the files until it writes to them. It does
    /// not inherit the options; msb fork does.
    #[arg(long, value_name = "SANDBOX[@NAME]")]
    from: Option<String>,
    /// Use the filesystem of a disk image instead of IMAGE
    ///
    /// FILE is a raw disk, a qcow2 or a single-file VMDK, such as a cloud image. msb only reads it,
    /// and it must not change. Settings can follow:
    /// FILE:format=raw|qcow2|vmdk,fstype=ext4|xfs|btrfs,partition=N; the rest are detected.
    #[arg(long, value_name = "FILE[:SETTING,...]", conflicts_with = "from")]
    root_disk: Option<RootDisk>,
    /// Make the root a single ext4 filesystem instead of an overlay
    ///
    /// The content of the image's files stays in the layers, and a change to a large file stores
    /// only the changed blocks, not a copy of the file. The size of the disk includes the image.
    /// msb diff, apply and discard support only its staged directories, and msb commit not at all.
    #[arg(long, conflicts_with_all = ["from", "root_disk"], help_heading = "Machine")]
    native_root: bool,
    /// Has no effect: every sandbox can have snapshots while it runs
    #[arg(long, help_heading = "Machine")]
    snapshots: bool,
    /// Take a snapshot before each command of msb exec, for msb undo
    #[arg(long, help_heading = "Machine")]
    snapshot_commands: bool,
    /// Number of commands whose snapshots are kept, 1 to 400 [default: 50]
    #[arg(long, value_name = "COUNT", help_heading = "Machine")]
    undo_limit: Option<u32>,
    /// Virtual processors [default: the host's, at most 4]
    #[arg(long, value_name = "COUNT", value_parser = parse_cpus, help_heading = "Machine")]
    cpus: Option<u8>,
    /// Guest memory
    #[arg(short, long, value_name = "SIZE", default_value = MEMORY_DEFAULT_TEXT, value_parser = parse_memory, help_heading = "Machine")]
    memory: u32,
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten, next_help_heading = "Machine")]
    limits: GuestLimitArguments,
    // A heading holds for everything behind it.
    #[command(flatten, next_help_heading = None)]
    stopping: StoppingArguments,
    /// When to pull: missing, always or never [default: missing]
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = "Image"
    )]
    pull: PullPolicy,
    #[command(flatten, next_help_heading = "Image")]
    source: pull::SourceArguments,
    #[command(flatten)]
    patches: PatchArguments,
    #[command(flatten)]
    mounts: MountArguments,
    #[command(flatten)]
    network: NetworkArguments,
    #[command(flatten)]
    needless: NeedlessOptions,
    /// Image, by name or digest, then a command with its arguments instead of the image's Cmd
    // One list: what stands behind the image is the command's, though it look like an option.
    #[arg(
        required_unless_present_any = ["from", "root_disk"],
        help_heading = None,
        trailing_var_arg = true,
        value_name = "IMAGE [COMMAND] [ARG]"
    )]
    words: Vec<String>,
}

impl SandboxArguments {
    /// Returns the options of the sandbox.
    pub(crate) fn options(&self) -> Result<SandboxOptions, Failure> {
        let mut options = SandboxOptions::new(self.image_and_command().0);
        options.from_sandbox.clone_from(&self.from);
        options.root_disk.clone_from(&self.root_disk);
        options.native_root = self.native_root;
        options.name.clone_from(&self.name);
        options.labels = labels(&self.label);
        self.set_command(&mut options)?;
        options.cpus = self.cpus;
        options.memory = Some(Size::new(u64::from(self.memory) << 20));
        options.disk = Some(Size::new(self.upper_size));
        options.snapshots = self.snapshots;
        options.snapshot_commands = self.snapshot_commands;
        options.undo_limit = self.undo_limit;
        options.remove_when_stopped = self.rm;
        options.restart = self.restart.0;
        let ms = |duration: Duration| duration.0.saturating_mul(1000);
        options.max_duration_ms = self.max_duration.map(ms);
        options.idle_timeout_ms = self.idle_timeout.map(ms);
        self.guest.set(&mut options.guest);
        self.limits.set(&mut options.guest).map_err(Error::from)?;
        options.stop_signal = self.stopping.signal();
        options.stop_timeout_ms = Some(self.stopping.timeout_ms());
        options.mounts = self.mounts.mounts()?;
        options.network = self.network.network();
        options.secrets = self.network.secrets()?;
        options.ports = self.network.ports();
        options.publish_all = self.network.publishes_all();
        options.host_ca = self.network.trusts_host();
        self.patches.set(&mut options)?;
        options.pull = match self.pull {
            PullPolicy::Missing => msb_sdk::PullPolicy::Missing,
            PullPolicy::Always => msb_sdk::PullPolicy::Always,
            PullPolicy::Never => msb_sdk::PullPolicy::Never,
        };
        options.source = self.source.source();
        Ok(options)
    }

    /// Returns the image, which is empty with `--from` and `--root-disk`, and the command.
    fn image_and_command(&self) -> (&str, &[String]) {
        match self.words.split_first() {
            Some((image, command)) if self.from.is_none() && self.root_disk.is_none() => {
                (image, command)
            }
            _ => ("", &self.words),
        }
    }

    fn set_command(&self, options: &mut SandboxOptions) -> Result<(), Failure> {
        let command = self.image_and_command().1;
        if self.no_command && !command.is_empty() {
            return Err(anyhow!("a command cannot be given with --no-command").into());
        }
        if !self.no_command {
            options.command = Some(command.iter().map(Text::from).collect());
        }
        options.entrypoint.clone_from(&self.entrypoint);
        options.env = self.process.environment()?;
        options.cwd = self.process.cwd();
        options.user = self.process.user();
        options.groups.clone_from(&self.guest.group_add);
        options.ulimits = self.process.ulimits();
        options.tty = self.process.terminal();
        options.stdin = self.process.stdin();
        Ok(())
    }

    /// Prints why an option changes nothing.
    fn print_notes(&self) {
        if self.mounts.has_labels() {
            output::notice("z and Z of -v change nothing: msb does not support SELinux labels");
        }
        if self.network.publishes_nothing() {
            output::notice("-p and -P change nothing with --network none");
        }
    }

    /// Creates the file for the sandbox's id, if there is to be one.
    fn id_file(&self) -> Result<Option<IdFile>, Failure> {
        self.cidfile.as_deref().map(IdFile::create).transpose()
    }
}

/// When the image is pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum PullPolicy {
    /// If the image is not in the store
    #[default]
    Missing,
    /// Every time
    Always,
    /// Never
    Never,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let options = arguments.sandbox.options()?;
    let request = context.msb.sandboxes().create("").with_options(options);
    let sandbox = create(context, &arguments.sandbox, request).await?;
    output::print(&format!("{}\n", sandbox.id()))?;
    Ok(0)
}

/// Carries the request out, and shows the progress of a pull on a terminal.
pub(crate) async fn create(
    context: &Context,
    arguments: &SandboxArguments,
    request: SandboxRequest,
) -> Result<Sandbox, Failure> {
    arguments.needless.print(context.quiet);
    if !context.quiet {
        arguments.print_notes();
    }
    let id_file = arguments.id_file()?;
    let bars = Arc::new(Bars::new(context.quiet));
    let shown = Arc::clone(&bars);
    let mut request = request.watch_pull(move |event| shown.show(&event));
    let id_file = id_file.map(Arc::new);
    if let Some(file) = id_file.clone() {
        request = request.watch_id(move |id| file.write(id).map_err(|failure| failure.line()));
    }
    let interrupted = |code| {
        if bars.is_pulling() {
            Failure::with_exit_code(Interrupted.into(), code)
        } else {
            let interrupted = anyhow!("interrupted").context("cannot start the sandbox");
            Failure::with_exit_code(interrupted, code)
        }
    };
    let created = context
        .cancellable(request.into_future(), interrupted)
        .await;
    bars.finish();
    if let (Err(_), Some(file)) = (&created, &id_file) {
        tidy(context, file).await;
    }
    let sandbox = created?;
    context.print_notices(sandbox.warnings());
    Ok(sandbox)
}

/// Removes the file of an id whose sandbox was removed, as one that did not boot is.
async fn tidy(context: &Context, file: &IdFile) {
    if let Some(id) = file.id()
        && context.handle(id).await.is_err()
    {
        file.remove();
    }
}

fn labels(typed: &[Label]) -> BTreeMap<String, String> {
    let pair = |label: &Label| (label.key.clone(), label.value.clone().unwrap_or_default());
    typed.iter().map(pair).collect()
}
