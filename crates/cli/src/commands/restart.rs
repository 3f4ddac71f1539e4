use super::machine::MachineArguments;
use super::{Context, start, stop};
use crate::failure::Outcome;
use msb_runtime::State;

/// Arguments of `msb restart`.
#[derive(Debug, clap::Args)]
#[command(after_help = "One that does not run is started.\n\nExample:\n  msb restart -t 2 web")]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    /// How long processes may take to end [default: what the sandbox was created with, or 10]
    #[arg(short, long, value_name = "SECONDS")]
    time: Option<u64>,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.sandboxes, async |sandbox| {
            if sandbox.state()? == State::Running {
                stop::stop(&sandbox, arguments.time).await?;
            }
            start::start(context, &sandbox, &arguments.machine).await
        })
        .await
}
