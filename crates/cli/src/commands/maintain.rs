use std::time::Duration;

use crate::commands::Context;
use msb_terminal::failure::Outcome;

/// The steps by which the process yields to others (nice(2)). With more of them, processes that keep all
/// processors busy could hold up those that wait for a list to be exchanged.
const NICE: i32 = 5;
/// The time before a snapshot is read: an agent that takes several has then taken them.
const DELAY: Duration = Duration::from_secs(1);

// Arguments of `msb __maintain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Id of the sandbox; without one, the store of images is maintained
    sandbox: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    // The work is not urgent, and goes on all the same.
    let _ = rustix::process::nice(NICE);
    match &arguments.sandbox {
        Some(sandbox) => {
            let sandbox = context.handle(sandbox).await?;
            sandbox.snapshots().maintain(DELAY).await?;
        }
        None => context.msb.images().maintain().await?,
    }
    Ok(0)
}
