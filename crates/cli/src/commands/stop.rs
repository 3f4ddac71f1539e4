use std::time::Duration;

use msb_runtime::{ConnectError, Sandbox, StopSignal};

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output;

// Arguments of `msb stop`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command gets its stop signal, as the image's STOPSIGNAL or --stop-signal has it, and \
    when it has ended the rest get SIGTERM. What lives when the time is up gets SIGKILL. Then the disks \
    are synced and unmounted. A guest that does not answer is killed: what it had synced is kept, and msb says so. \
    One that does not run is left as it is, and that is no error.\n\n\
    Examples:\n  msb stop -t 2 work"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    stop: StopArguments,
}

// The sandboxes to stop, and the options for it.
#[derive(Debug, clap::Args)]
pub(super) struct StopArguments {
    /// Time that processes may take to end [default: what the sandbox was created with, or 10]
    #[arg(short, long, value_name = "SECONDS")]
    pub(super) time: Option<u64>,
    /// Signal that asks the command to end [default: what the sandbox was created with]
    #[arg(short, long)]
    pub(super) signal: Option<StopSignal>,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    pub(super) sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.stop.sandboxes, async |sandbox| {
            stop(&sandbox, &arguments.stop).await
        })
        .await
}

/// Stops a sandbox if it is running. Prints a notice if it had to be killed.
pub(super) async fn stop(sandbox: &Sandbox, how: &StopArguments) -> Result<(), Failure> {
    let grace = Duration::from_secs(how.time.unwrap_or(sandbox.spec.stopping.timeout_s));
    match sandbox.stop(grace, how.signal).await {
        Ok(true) | Err(ConnectError::NotRunning { .. }) => Ok(()),
        Ok(false) => {
            let name = &sandbox.spec.name;
            output::notice(&format!(
                "sandbox {name} did not stop by itself and was killed"
            ));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}
