use super::machine::MachineArguments;
use super::stop::StopArguments;
use super::{Context, start, stop};
use crate::failure::{Failure, Outcome};
use msb_runtime::ReachError;

// Arguments of `msb restart`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A sandbox that does not run is started.\n\nExamples:\n  msb restart -t 2 web"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    stop: StopArguments,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.stop.sandboxes, async |sandbox| {
            match stop::stop(&sandbox, arguments.stop.time).await {
                Err(failure) if is_stopped(&failure) => {}
                stopped => stopped?,
            }
            start::start(context, &sandbox, &arguments.machine).await
        })
        .await
}

/// Whether there was nothing to stop, or not any more.
fn is_stopped(failure: &Failure) -> bool {
    matches!(
        failure.cause::<ReachError>(),
        Some(ReachError::NotRunning { .. })
    )
}
