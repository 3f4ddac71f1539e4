use msb_runtime::StopSignal;
use msb_sdk::Signal;

use super::Context;
use msb_terminal::failure::Outcome;

/// The number of SIGKILL on Linux.
const KILL: i32 = 9;

// Arguments of `msb kill`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The machine ends at once. Files that the guest had synced are kept; the disk's \
    journal is replayed at the next start. With --job, or with a signal other than SIGKILL, the \
    sandbox keeps running: the signal goes to the job, or to the main command, and to the \
    processes that it started.\n\n\
    Examples:\n  \
    msb kill work\n  \
    msb kill -s HUP web\n  \
    job=$(msb exec -d work sleep 600); msb kill --job $job work"
)]
pub(crate) struct Arguments {
    /// Signal to send, by name or number
    #[arg(short, long, default_value = "SIGKILL")]
    signal: StopSignal,
    /// Kill a job of each sandbox instead; msb jobs lists their numbers
    #[arg(long, value_name = "NUMBER")]
    job: Option<u64>,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let number = arguments.signal.number();
    context
        .each(&arguments.sandboxes, async |sandbox| match arguments.job {
            Some(id) => {
                let signal = Signal::try_from(number)?;
                Ok(sandbox.jobs().job(id).signal(signal).await?)
            }
            None if number == KILL => Ok(sandbox.kill().await?),
            None => Ok(sandbox.signal(arguments.signal.to_string()).await?),
        })
        .await
}
