use anyhow::{Context as _, anyhow};
use msb_runtime::exec;

use super::run::{MachineArguments, ProcessArguments};
use super::{Context, machine};
use crate::failure::Outcome;

/// Arguments of `msb start`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The sandbox boots from the disk it was stopped with.\n\n\
    Example:\n  msb run --name work debian touch /made; msb start work ls /made"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    process: ProcessArguments,
    /// Program to run instead of the image's Entrypoint
    #[arg(long, value_name = "PROGRAM")]
    entrypoint: Option<String>,
    /// Sandbox, by name or id
    sandbox: String,
    /// Command and arguments instead of the image's Cmd
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let name = &arguments.sandbox;
    let sandbox = context.sandbox(name)?;
    let store = context.store()?;
    let image = store.find(&sandbox.spec.image_digest)?;
    let _hold = store.hold(&image)?;
    store.check_with(&image, arguments.machine.trust())?;
    let lock = sandbox
        .lock()?
        .ok_or_else(|| anyhow!("sandbox {name} is running"))?;
    let overrides = arguments
        .process
        .overrides(arguments.entrypoint.as_deref(), &arguments.command)?;
    let exec =
        exec(&image.record.config, &overrides).with_context(|| format!("cannot start {name}"))?;
    let start = machine::Start {
        context,
        image: &image,
        vmm: arguments.machine.vmm,
        boot_limit: arguments.machine.boot_limit(),
    };
    machine::start_and_attach(&start, &sandbox, lock, exec).await
}
