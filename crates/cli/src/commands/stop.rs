use std::time::Duration;

use msb_runtime::Sandbox;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output;

// Arguments of `msb stop`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command gets its stop signal, as the image's STOPSIGNAL or --stop-signal has it, and \
    when it has ended the rest get SIGTERM. What lives when the time is up gets SIGKILL. Then the disks \
    are synced and unmounted. A guest that does not answer is killed: what it had synced is kept, and msb says so.\n\n\
    Examples:\n  msb stop -t 2 work"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    stop: StopArguments,
}

// What is to stop, and how.
#[derive(Debug, clap::Args)]
pub(super) struct StopArguments {
    /// How long processes may take to end [default: what the sandbox was created with, or 10]
    #[arg(short, long, value_name = "SECONDS")]
    pub(super) time: Option<u64>,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    pub(super) sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.stop.sandboxes, async |sandbox| {
            stop(&sandbox, arguments.stop.time).await
        })
        .await
}

/// Stops a sandbox, and says so when that took force.
pub(crate) async fn stop(sandbox: &Sandbox, time_s: Option<u64>) -> Result<(), Failure> {
    let grace = Duration::from_secs(time_s.unwrap_or(sandbox.spec.stopping.timeout_s));
    if !sandbox.stop(grace).await? {
        let name = &sandbox.spec.name;
        output::notice(&format!(
            "sandbox {name} did not stop by itself and was killed"
        ));
    }
    Ok(())
}
