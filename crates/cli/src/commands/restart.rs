use super::machine::MachineArguments;
use super::stop::StopArguments;
use super::{Context, start, stop};
use crate::failure::Outcome;
use msb_runtime::State;

/// Arguments of `msb restart`.
#[derive(Debug, clap::Args)]
#[command(after_help = "One that does not run is started.\n\nExample:\n  msb restart -t 2 web")]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    stop: StopArguments,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.stop.sandboxes, async |sandbox| {
            if sandbox.state()? == State::Running {
                stop::stop(&sandbox, arguments.stop.time).await?;
            }
            start::start(context, &sandbox, &arguments.machine).await
        })
        .await
}
