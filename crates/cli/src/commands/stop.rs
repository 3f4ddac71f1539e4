use std::time::Duration;

use msb_runtime::StopSignal;
use msb_sdk::{Sandbox, Stopped};

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;

// Arguments of `msb stop`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command gets its stop signal, which is the image's STOPSIGNAL or --stop-signal; when it \
    has ended, the other processes get SIGTERM. Processes that are left after the timeout get SIGKILL. Then \
    the disks are synced and unmounted. A guest that does not answer is killed, which msb reports; files that \
    it had synced are kept. It is not an error if a sandbox is not running.\n\n\
    Examples:\n  \
    msb stop -t 2 work"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    stop: StopArguments,
}

// The sandboxes to stop, and the options for it.
#[derive(Debug, clap::Args)]
pub(super) struct StopArguments {
    /// Time limit for processes to end [default: the sandbox's own, or 10]
    #[arg(short, long, value_name = "SECONDS")]
    pub(super) time: Option<u64>,
    /// Signal that asks the command to end [default: the sandbox's own]
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
    let grace = how.time.map(Duration::from_secs);
    let signal = how.signal.map(|signal| signal.to_string());
    if sandbox.stop_with(grace, signal).await? == Stopped::Killed {
        let name = sandbox.name();
        output::notice(&format!(
            "sandbox {name} did not stop in time and was killed"
        ));
    }
    Ok(())
}
