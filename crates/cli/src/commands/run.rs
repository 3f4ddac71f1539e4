use std::io;
use std::time::Duration;

use anyhow::Context as _;
use image_store::{FindError, Hold, Store, StoredImage, Trust};
use msb_runtime::{CreateOptions, Overrides, ProcessDefaults, Resources, Sandbox, exec};

use super::network::NetworkArguments;
use super::{Context, machine, pull};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::terminal;

/// How often an image that is removed under its user's hands is looked for.
const HOLD_ATTEMPTS: u32 = 5;

/// Arguments of `msb run`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The image's Entrypoint, Cmd, Env, WorkingDir and User are followed.\n\n\
    Exit code: the command's own; 128+N when signal N killed it; 125 when msb failed, 126 when the \
    command cannot be executed, 127 when there is no such command.\n\n\
    Examples:\n  \
    msb run --rm alpine cat /etc/os-release\n  \
    echo 'print(6*7)' | msb run --rm -i python:3-slim python3 -\n  \
    msb run -it --name work --memory 2G debian bash; msb start -it work bash"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    #[command(flatten)]
    pub(crate) process: ProcessArguments,
    /// Program to run instead of the image's Entrypoint
    #[arg(long, value_name = "PROGRAM")]
    entrypoint: Option<String>,
    /// Print the sandbox's id and leave the command to itself; see msb logs, wait, exec, stop
    #[arg(short, long, conflicts_with = "interactive")]
    detach: bool,
    /// Remove the sandbox once the command has ended
    #[arg(long)]
    rm: bool,
    /// Name of the sandbox [default: its id]
    #[arg(long)]
    name: Option<String>,
    /// Size of the writable disk; sparse, so what is not written costs nothing
    #[arg(long, value_name = "SIZE", default_value = "8G", value_parser = output::parse_size)]
    upper_size: u64,
    /// Virtual processors [default: the host's, at most 4]
    #[arg(long)]
    cpus: Option<u8>,
    /// Guest memory
    #[arg(short, long, value_name = "SIZE", default_value = "1G", value_parser = output::parse_size)]
    memory: u64,
    /// When to pull the image
    #[arg(long, value_enum, default_value_t)]
    pull: PullPolicy,
    #[command(flatten)]
    source: pull::SourceArguments,
    #[command(flatten)]
    network: NetworkArguments,
    /// Image, by name or digest
    image: String,
    /// Command and arguments instead of the image's Cmd
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Which machine runs a sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct MachineArguments {
    /// Which VMM runs it: libkrun, QEMU, or libkrun where the host can and QEMU elsewhere
    #[arg(long, value_enum, default_value_t, env = "MSB_VMM")]
    pub(crate) vmm: VmmName,
    /// How long the guest may take to answer
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    boot_timeout: u64,
    /// When to read all of the image and compare it with its digests before the boot
    #[arg(long, value_enum, default_value_t, env = "MSB_VERIFY", value_name = "WHEN",
        num_args = 0..=1, require_equals = true, default_missing_value = "always")]
    verify: VerifyPolicy,
}

/// When an image's content is compared with its digests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum VerifyPolicy {
    /// What changed since it was last compared, as the host's kernel tells
    #[default]
    Changed,
    /// Everything, every time
    Always,
}

impl MachineArguments {
    /// How long the guest may take to answer.
    pub(crate) const fn boot_limit(&self) -> Duration {
        Duration::from_secs(self.boot_timeout)
    }

    /// How well the image must prove itself.
    pub(crate) const fn trust(&self) -> Trust {
        match self.verify {
            VerifyPolicy::Changed => Trust::Stamp,
            VerifyPolicy::Always => Trust::Digest,
        }
    }
}

/// How a command is run in a sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct ProcessArguments {
    /// Set NAME=VALUE in the environment, or pass NAME on from here
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Working directory
    #[arg(short, long, value_name = "DIR")]
    workdir: Option<String>,
    /// User and group, names or numbers
    #[arg(short, long, value_name = "USER[:GROUP]")]
    user: Option<String>,
    /// Pass standard input on
    #[arg(short, long)]
    interactive: bool,
    /// Give the command a terminal
    #[arg(short, long)]
    tty: bool,
}

/// When `msb run` pulls.
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

/// The VMMs by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum VmmName {
    /// libkrun where the host can, QEMU elsewhere
    #[default]
    Auto,
    /// libkrun, with hardware virtualisation
    Krun,
    /// QEMU, also without hardware virtualisation
    Qemu,
}

impl ProcessArguments {
    /// What was typed, over the image's config.
    pub(crate) fn overrides(
        &self,
        entrypoint: Option<&str>,
        command: &[String],
    ) -> Result<Overrides, Failure> {
        if self.tty && self.interactive && !terminal::stdin_is_terminal() {
            return Err(anyhow::anyhow!("-t needs a terminal on standard input").into());
        }
        Ok(Overrides {
            entrypoint: entrypoint.map(str::to_owned),
            command: command.to_vec(),
            env: self
                .env
                .iter()
                .filter_map(|setting| passed_on(setting))
                .collect(),
            working_directory: self.workdir.clone(),
            user: self.user.clone(),
            terminal: self.tty.then(terminal::size),
            stdin: self.interactive,
        })
    }
}

/// `NAME` alone takes its value from here, and is nothing where it is not set here.
fn passed_on(setting: &str) -> Option<String> {
    if setting.contains('=') {
        return Some(setting.to_owned());
    }
    std::env::var(setting)
        .ok()
        .map(|value| format!("{setting}={value}"))
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let network = arguments.network.settings()?;
    let store = context.store()?;
    let (image, _hold) = held_image(context, &store, arguments).await?;
    store.check_with(&image, arguments.machine.trust())?;
    let overrides = arguments
        .process
        .overrides(arguments.entrypoint.as_deref(), &arguments.command)?;
    let exec = exec(&image.record.config, &overrides)
        .with_context(|| format!("cannot run {}", arguments.image))?;
    let options = CreateOptions {
        name: arguments.name.clone(),
        image: arguments.image.clone(),
        resources: resources(arguments)?,
        remove_when_stopped: arguments.rm,
        command: exec
            .argv
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect(),
        process: ProcessDefaults {
            env: overrides.env,
            working_directory: overrides.working_directory,
            user: overrides.user,
        },
        network,
    };
    let (sandbox, lock) = Sandbox::create(&context.home, &image, options)?;
    let start = machine::Start {
        context,
        image: &image,
        vmm: arguments.machine.vmm,
        boot_limit: arguments.machine.boot_limit(),
    };
    if arguments.detach {
        let code = machine::start_and_leave(&start, &sandbox, lock, exec).await?;
        output::print(&format!("{}\n", sandbox.spec.id))?;
        return Ok(code);
    }
    let outcome = machine::start_and_attach(&start, &sandbox, lock, exec).await;
    if arguments.rm {
        // The command's own outcome matters more than left-overs, which the next run sweeps.
        if let Err(error) = sandbox.remove() {
            output::notice(&error.to_string());
        }
    }
    outcome
}

/// The image, and the right that it stays until its machine has that right too. A removal may
/// come between finding and holding it; then it is found or pulled again.
async fn held_image(
    context: &Context,
    store: &Store,
    arguments: &Arguments,
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
    arguments: &Arguments,
) -> Result<StoredImage, Failure> {
    let pull = || pull::pull(context, store, &arguments.image, &arguments.source);
    match arguments.pull {
        PullPolicy::Always => pull().await,
        PullPolicy::Never => Ok(store.find(&arguments.image)?),
        PullPolicy::Missing => match store.find(&arguments.image) {
            Ok(image) => Ok(image),
            Err(FindError::NotFound { .. }) => pull().await,
            Err(error) => Err(error.into()),
        },
    }
}

fn resources(arguments: &Arguments) -> Result<Resources, Failure> {
    let host_cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let default_cpus = u8::try_from(host_cpus.min(4)).unwrap_or(1);
    let cpus = arguments.cpus.unwrap_or(default_cpus);
    if cpus == 0 {
        return Err(anyhow::anyhow!("--cpus must be at least 1").into());
    }
    let memory_mib = u32::try_from(arguments.memory >> 20)
        .ok()
        .filter(|&mib| mib >= 64)
        .with_context(|| format!("--memory {} is outside 64M to 4P", arguments.memory))?;
    Ok(Resources {
        cpus,
        memory_mib,
        upper_bytes: arguments.upper_size,
    })
}
