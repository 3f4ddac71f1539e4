use std::collections::BTreeMap;
use std::io;

use anyhow::{Context as _, anyhow};
use image_store::{FindError, Hold, Store, StoredImage, Trust};
use msb_runtime::{
    CreateOptions, Lifetime, Lock, Mark, Process, Resources, Sandbox, process,
    process_without_command,
};

use super::guest::GuestArguments;
use super::guest_limits::GuestLimitArguments;
use super::network::NetworkArguments;
use super::patches::PatchArguments;
use super::process::ProcessArguments;
use super::stopping::StoppingArguments;
use super::volume::MountArguments;
use super::{Context, pull};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::words::{Duration, Label, Restart};

/// How often an image that is removed under its user's hands is looked for.
const HOLD_ATTEMPTS: u32 = 5;

// Arguments of `msb create`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "msb create [OPTIONS] IMAGE [COMMAND] [ARG]...",
    after_help = "What msb run takes before the image, msb create takes too; msb start starts it.\n\n\
    Examples:\n  \
    msb create --name work -it debian bash; msb start -ai work\n  \
    msb create --name box --no-command python:3-slim; msb start box; msb exec box python3 -V"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) sandbox: SandboxArguments,
}

// What a sandbox is to be.
#[derive(Debug, clap::Args)]
pub(crate) struct SandboxArguments {
    #[command(flatten)]
    pub(crate) process: ProcessArguments,
    /// Program to run instead of the image's Entrypoint
    #[arg(long, value_name = "PROGRAM")]
    entrypoint: Option<String>,
    /// Run no command: the sandbox lives until it is stopped, for msb exec
    #[arg(long, conflicts_with_all = ["entrypoint", "interactive", "tty"])]
    pub(crate) no_command: bool,
    /// Remove the sandbox once the command has ended; fsync inside it waits for no disk, except on
    /// volumes
    #[arg(long, conflicts_with = "restart")]
    pub(crate) rm: bool,
    /// Name of the sandbox [default: its id]
    #[arg(long)]
    name: Option<String>,
    /// Label of the sandbox; msb ps --filter label=KEY lists those that have it
    #[arg(short, long, value_name = "KEY[=VALUE]")]
    label: Vec<Label>,
    /// Start the command again when it has ended: no, on-failure[:RETRIES], always
    #[arg(long, value_name = "POLICY", default_value = "no")]
    restart: Restart,
    /// Stop the sandbox this long after its start, as 90s or 2h30m
    #[arg(long, value_name = "TIME")]
    max_duration: Option<Duration>,
    /// Stop the sandbox once nobody has been connected and no job has run for this long
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<Duration>,
    /// Size of the writable disk; sparse, so what is not written costs nothing
    #[arg(long, value_name = "SIZE", default_value = "8G", value_parser = output::parse_size)]
    upper_size: u64,
    /// Virtual processors [default: the host's, at most 4]
    #[arg(long)]
    cpus: Option<u8>,
    /// Guest memory
    #[arg(short, long, value_name = "SIZE", default_value = "1G", value_parser = output::parse_size)]
    memory: u64,
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    limits: GuestLimitArguments,
    #[command(flatten)]
    stopping: StoppingArguments,
    /// When to pull the image
    #[arg(long, value_enum, default_value_t)]
    pull: PullPolicy,
    #[command(flatten)]
    source: pull::SourceArguments,
    #[command(flatten)]
    patches: PatchArguments,
    #[command(flatten)]
    mounts: MountArguments,
    #[command(flatten)]
    network: NetworkArguments,
    /// Image, by name or digest, then a command with its arguments instead of the image's Cmd
    // One list: what stands behind the image is the command's, though it look like an option.
    #[arg(
        required = true,
        help_heading = None,
        trailing_var_arg = true,
        value_name = "IMAGE [COMMAND] [ARG]"
    )]
    words: Vec<String>,
}

impl SandboxArguments {
    fn image(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn command(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// When the image is pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum PullPolicy {
    /// When the image is not here
    #[default]
    Missing,
    /// Every time
    Always,
    /// Not at all
    Never,
}

/// A sandbox that was made just now.
pub(crate) struct Created {
    pub(crate) sandbox: Sandbox,
    pub(crate) lock: Lock,
    pub(crate) image: StoredImage,
    /// The image stays until its machine holds it.
    pub(crate) _hold: Hold,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let created = create(context, &arguments.sandbox, None).await?;
    output::print(&format!("{}\n", created.sandbox.spec.id))?;
    Ok(0)
}

/// Makes the sandbox, and pulls its image if need be. With a `trust` the image is checked first, for
/// a boot that comes next; a later start checks it then.
pub(crate) async fn create(
    context: &Context,
    arguments: &SandboxArguments,
    trust: Option<Trust>,
) -> Result<Created, Failure> {
    // What cannot be is said before anything is pulled.
    arguments.network.settings_of_any_image()?;
    let store = context.store()?;
    let (image, hold) = held_image(context, &store, arguments).await?;
    let exposed_ports = image.record.config.exposed_ports.as_deref();
    let network = arguments
        .network
        .settings(exposed_ports.unwrap_or_default())?;
    if let Some(trust) = trust {
        store.check_with(&image, trust)?;
        context.timeline.mark(Mark::ImageChecked)?;
    }
    let options = CreateOptions {
        name: arguments.name.clone(),
        image: arguments.image().to_owned(),
        resources: resources(arguments)?,
        remove_when_stopped: arguments.rm,
        labels: labels(&arguments.label),
        process: first_process(&image, arguments)?,
        restart: arguments.restart.0,
        lifetime: Lifetime {
            max_duration_s: arguments.max_duration.map(|duration| duration.0),
            idle_timeout_s: arguments.idle_timeout.map(|duration| duration.0),
        },
        network,
        hostname: arguments.guest.hostname.clone(),
        read_only: arguments.guest.read_only,
        limits: arguments.limits.limits(),
        stopping: arguments.stopping.stopping(&image.record.config),
        patches: arguments.patches.patches()?,
        mounts: arguments.mounts.mounts(),
    };
    let (sandbox, lock) = Sandbox::create(&context.home, &image, options)?;
    context.timeline.mark(Mark::SandboxCreated)?;
    Ok(Created {
        sandbox,
        lock,
        image,
        _hold: hold,
    })
}

fn first_process(image: &StoredImage, arguments: &SandboxArguments) -> Result<Process, Failure> {
    let mut overrides = arguments
        .process
        .overrides(arguments.entrypoint.as_deref(), arguments.command())?;
    overrides.groups.clone_from(&arguments.guest.group_add);
    let config = &image.record.config;
    if arguments.no_command && !arguments.command().is_empty() {
        return Err(anyhow!("--no-command takes no command").into());
    }
    if arguments.no_command {
        return Ok(process_without_command(config, &overrides));
    }
    let first = process(config, &overrides);
    Ok(first.with_context(|| format!("cannot run {}", arguments.image()))?)
}

fn labels(typed: &[Label]) -> BTreeMap<String, String> {
    let pair = |label: &Label| (label.key.clone(), label.value.clone().unwrap_or_default());
    typed.iter().map(pair).collect()
}

/// The image, and the right that it stays until its machine has that right too. A removal may
/// come between finding and holding it; then it is found or pulled again.
async fn held_image(
    context: &Context,
    store: &Store,
    arguments: &SandboxArguments,
) -> Result<(StoredImage, Hold), Failure> {
    let mut attempts = 0;
    loop {
        let image = image(context, store, arguments).await?;
        attempts += 1;
        match store.hold(&image) {
            Ok(hold) => return Ok((image, hold)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < HOLD_ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn image(
    context: &Context,
    store: &Store,
    arguments: &SandboxArguments,
) -> Result<StoredImage, Failure> {
    let pull = || pull::pull(context, store, arguments.image(), &arguments.source);
    match arguments.pull {
        PullPolicy::Always => pull().await,
        PullPolicy::Never => Ok(store.find(arguments.image())?),
        PullPolicy::Missing => match store.find(arguments.image()) {
            Ok(image) => Ok(image),
            Err(FindError::NotFound { .. }) => pull().await,
            Err(error) => Err(error.into()),
        },
    }
}

fn resources(arguments: &SandboxArguments) -> Result<Resources, Failure> {
    let host_cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let default_cpus = u8::try_from(host_cpus.min(4)).unwrap_or(1);
    let cpus = arguments.cpus.unwrap_or(default_cpus);
    if cpus == 0 {
        return Err(anyhow::anyhow!("--cpus must be at least 1").into());
    }
    Ok(Resources {
        cpus,
        memory_mib: memory_mib(arguments.memory)?,
        upper_bytes: arguments.upper_size,
    })
}

/// Guest memory as a machine takes it.
pub(crate) fn memory_mib(bytes: u64) -> Result<u32, Failure> {
    let memory_mib = u32::try_from(bytes >> 20).ok().filter(|&mib| mib >= 64);
    Ok(memory_mib.with_context(|| format!("--memory {bytes} is outside 64M to 4P"))?)
}
