use anyhow::anyhow;
use msb_runtime::Sandbox;

use super::{Context, jobs};
use crate::failure::{Failure, Outcome};

/// SIGKILL.
const KILL: i32 = 9;

// Arguments of `msb kill`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The machine ends at once. Files that the guest had synced are kept; the disk's journal \
    is replayed at the next start. With --job the sandbox goes on: the job and what it started get SIGKILL.\n\n\
    Examples:\n  \
    msb kill work\n  \
    job=$(msb exec -d work sleep 600); msb kill --job $job work"
)]
pub(crate) struct Arguments {
    /// Kill a job of each sandbox instead; msb jobs lists their numbers
    #[arg(long, value_name = "NUMBER")]
    job: Option<u64>,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.sandboxes, async |sandbox| match arguments.job {
            Some(id) => kill_job(&sandbox, id).await,
            None => Ok(sandbox.kill().await?),
        })
        .await
}

async fn kill_job(sandbox: &Sandbox, id: u64) -> Result<(), Failure> {
    let name = &sandbox.spec.name;
    if !jobs::find(sandbox, id)?.running {
        return Err(anyhow!("job {id} of sandbox {name} does not run").into());
    }
    Ok(sandbox.connect().await?.signal_job(id, KILL).await?)
}
