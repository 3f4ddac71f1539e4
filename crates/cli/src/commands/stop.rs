use std::time::Duration;

use msb_runtime::Sandbox;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output;

/// Arguments of `msb stop`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Processes get SIGTERM, and SIGKILL when the time is up; then the disks are synced and \
    unmounted. A guest that does not answer is killed: what it had synced is kept, and msb says so.\n\n\
    Example:\n  msb stop -t 2 work"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    stop: StopArguments,
}

/// What is to stop, and how.
#[derive(Debug, clap::Args)]
pub(super) struct StopArguments {
    /// How long processes may take to end
    #[arg(short, long, value_name = "SECONDS", default_value_t = 10)]
    time: u64,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    pub(super) sandboxes: Vec<String>,
}

impl StopArguments {
    pub(super) const fn grace(&self) -> Duration {
        Duration::from_secs(self.time)
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let grace = arguments.stop.grace();
    context
        .each(&arguments.stop.sandboxes, async |sandbox| {
            stop(&sandbox, grace).await
        })
        .await
}

/// Stops a sandbox, and says so when that took force.
pub(crate) async fn stop(sandbox: &Sandbox, grace: Duration) -> Result<(), Failure> {
    if !sandbox.stop(grace).await? {
        let name = &sandbox.spec.name;
        output::notice(&format!(
            "sandbox {name} did not stop by itself and was killed"
        ));
    }
    Ok(())
}
