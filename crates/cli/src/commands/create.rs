use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use image_store::{FindError, ImageLease, Store, StoredImage, VerifyMode};
use msb_runtime::{
    CreateOptions, HostAuthorities, Lifetime, Lock, Mark, Process, Resources, Sandbox,
    check_mounts, process, process_without_command,
};
use oci_image::Platform;

use super::guest::GuestArguments;
use super::guest_limits::GuestLimitArguments;
use super::id_file::IdFile;
use super::machine::VmmName;
use super::network::NetworkArguments;
use super::patches::PatchArguments;
use super::process::ProcessArguments;
use super::resources::{parse_cpus, parse_memory};
use super::stopping::StoppingArguments;
use super::volume::MountArguments;
use super::{Context, pull};
use crate::docker::NeedlessOptions;
use crate::failure::{Failure, Interrupted, Outcome};
use crate::option_values::{Duration, Label, Restart};
use crate::output;

/// The number of attempts to lease an image that others remove at the same time.
const HOLD_ATTEMPTS: u32 = 5;

// Arguments of `msb create`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "msb create [OPTIONS] IMAGE [COMMAND] [ARG]...",
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
    /// An fsync inside it waits for no disk, except on volumes.
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
    /// Start the command again: no, on-failure[:RETRIES], always
    ///
    /// It is started again in the same machine when it has ended.
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
    #[arg(long, value_name = "SIZE", default_value = "8G", value_parser = output::parse_size, help_heading = "Machine")]
    upper_size: u64,
    /// Virtual processors [default: the host's, at most 4]
    #[arg(long, value_name = "COUNT", value_parser = parse_cpus, help_heading = "Machine")]
    cpus: Option<u8>,
    /// Guest memory
    #[arg(short, long, value_name = "SIZE", default_value = "1G", value_parser = parse_memory, help_heading = "Machine")]
    memory: u32,
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten, next_help_heading = "Machine")]
    limits: GuestLimitArguments,
    // A heading holds for everything behind it.
    #[command(flatten, next_help_heading = None)]
    stopping: StoppingArguments,
    /// When to pull the image
    #[arg(long, value_enum, default_value_t, help_heading = "Image")]
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
    /// If the image is not in the store
    #[default]
    Missing,
    /// Every time
    Always,
    /// Never
    Never,
}

/// A sandbox that was created by this command.
pub(crate) struct Created {
    pub(crate) sandbox: Sandbox,
    pub(crate) lock: Lock,
    pub(crate) image: StoredImage,
    /// The lease that keeps the image until its machine has its own lease.
    pub(crate) _lease: ImageLease,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let vmm = VmmName::of_environment();
    let created = create(context, &arguments.sandbox, vmm, None).await?;
    output::print(&format!("{}\n", created.sandbox.spec.id))?;
    Ok(0)
}

/// Creates the sandbox, to be started by `vmm`, and pulls its image if necessary. With a `trust`
/// the image is verified first, for a boot that follows; otherwise the start verifies it.
pub(crate) async fn create(
    context: &Context,
    arguments: &SandboxArguments,
    vmm: VmmName,
    trust: Option<VerifyMode>,
) -> Result<Created, Failure> {
    arguments.needless.print(context.quiet);
    // Invalid options are reported before anything is pulled.
    let has_network = arguments.network.settings_of_any_image()?.is_some();
    let authorities = arguments.network.authorities()?;
    let mounts = arguments.mounts.mounts();
    let room = if mounts.is_empty() {
        None
    } else {
        vmm.room(has_network)
    };
    check_mounts(&context.home, mounts.clone(), room.as_ref())?;
    let id_file = arguments.cidfile.as_deref().map(IdFile::create);
    let id_file = id_file.transpose()?;
    let store = context.store()?;
    let (image, lease) = leased_image(context, &store, arguments).await?;
    warn_of_platform(context, arguments.image(), &image.record.platform);
    let exposed_ports = image.record.config.exposed_ports.as_deref();
    let network = arguments
        .network
        .settings(exposed_ports.unwrap_or_default())?;
    if let Some(trust) = trust {
        store.check_with(&image, trust)?;
        context.timeline.mark(Mark::ImageChecked)?;
    }
    let mut patches = arguments.patches.patches()?;
    patches
        .write
        .extend(authorities.iter().map(HostAuthorities::file));
    let options = CreateOptions {
        name: arguments.name.clone(),
        image: arguments.image().to_owned(),
        resources: resources(arguments),
        remove_when_stopped: arguments.rm,
        removed_with_owner: false,
        labels: labels(&arguments.label),
        process: first_process(&image, arguments, authorities.is_some())?,
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
        patches,
        mounts,
        room,
    };
    let (sandbox, lock) = Sandbox::create(&context.home, &image, options)?;
    context.timeline.mark(Mark::SandboxCreated)?;
    if let Some(file) = id_file {
        file.write(sandbox.spec.id.as_str())?;
    }
    Ok(Created {
        sandbox,
        lock,
        image,
        _lease: lease,
    })
}

fn first_process(
    image: &StoredImage,
    arguments: &SandboxArguments,
    trusts_host: bool,
) -> Result<Process, Failure> {
    let mut overrides = arguments
        .process
        .overrides(arguments.entrypoint.as_deref(), arguments.command())?;
    overrides.groups.clone_from(&arguments.guest.group_add);
    if trusts_host {
        overrides.env_defaults = HostAuthorities::environment();
    }
    let config = &image.record.config;
    if arguments.no_command && !arguments.command().is_empty() {
        return Err(anyhow!("a command cannot be given with --no-command").into());
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

/// Finds or pulls the image and leases it until its machine has a lease. If the image is removed
/// between both steps, it is found or pulled again.
async fn leased_image(
    context: &Context,
    store: &Store,
    arguments: &SandboxArguments,
) -> Result<(StoredImage, ImageLease), Failure> {
    let mut attempts = 0;
    loop {
        let image = image(context, store, arguments).await?;
        attempts += 1;
        match store.lease(&image) {
            Ok(lease) => return Ok((image, lease)),
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
    let name = arguments.image();
    let pull = || pull::pull(context, store, name, &arguments.source);
    let found = match arguments.pull {
        PullPolicy::Always => return pull().await,
        PullPolicy::Missing | PullPolicy::Never => {
            store.find_for(name, arguments.source.platform.as_ref())
        }
    };
    match found {
        Err(error) if arguments.pull == PullPolicy::Missing && error.is_of_absence() => {
            pull().await.map_err(|failure| not_here(failure, error))
        }
        other => Ok(other?),
    }
}

/// Adds to a failed pull the reason why the image was pulled, unless the user interrupted the pull.
fn not_here(failure: Failure, why: FindError) -> Failure {
    if failure.cause::<Interrupted>().is_some() {
        return failure;
    }
    let why = match why {
        FindError::NotFound { name } => format!("image '{name}' is not in the store"),
        why => why.to_string(),
    };
    let hint = "list the images in the store with msb images";
    failure.context(why).with_hint(hint.to_owned())
}

/// Warns of an image whose programs this host's processors may not run. The image's platform may be
/// labelled wrongly, so the image is not refused.
fn warn_of_platform(context: &Context, name: &str, platform: &Platform) {
    if let (Some(warning), false) = (platform_warning(name, platform), context.quiet) {
        output::notice(&warning);
    }
}

fn platform_warning(name: &str, platform: &Platform) -> Option<String> {
    let host = Platform::host();
    let is_same = (&platform.os, &platform.architecture) == (&host.os, &host.architecture);
    (!is_same).then(|| {
        format!(
            "image {name} is for {platform}, but this sandbox is {host}, so its programs may not \
             run"
        )
    })
}

fn resources(arguments: &SandboxArguments) -> Resources {
    let host_cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let default_cpus = u8::try_from(host_cpus.min(4)).unwrap_or(1);
    Resources {
        cpus: arguments.cpus.unwrap_or(default_cpus),
        memory_mib: arguments.memory,
        upper_bytes: arguments.upper_size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_another_architecture_is_warned_of() {
        let host = Platform::host();
        let older = Platform::new("linux", &host.architecture, Some("v3"));
        assert_eq!(platform_warning("app", &host), None);
        assert_eq!(platform_warning("app", &older), None);
        let foreign = Platform::new("linux", "riscv64", None);
        let warning = platform_warning("app", &foreign).expect("another architecture");
        assert!(
            warning.contains("app is for linux/riscv64, but this sandbox is"),
            "{warning}"
        );
        let other_system = Platform::new("windows", &host.architecture, None);
        assert!(platform_warning("app", &other_system).is_some());
    }
}
