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
    /// Id of the sandbox
    sandbox: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    // The work is not urgent, and goes on all the same.
    let _ = rustix::process::nice(NICE);
    let sandbox = context.handle(&arguments.sandbox).await?;
    sandbox.snapshots().maintain(DELAY).await?;
    Ok(0)
}
