use crate::commands::Context;
use crate::failure::Outcome;

/// The steps by which the process yields to all others, the most that there are (nice(2)).
const NICE: i32 = 19;

// Arguments of `msb __merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Id of the sandbox
    sandbox: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    // Merging is not urgent, and goes on all the same.
    let _ = rustix::process::nice(NICE);
    let sandbox = context.handle(&arguments.sandbox).await?;
    sandbox.snapshots().merge_many().await?;
    Ok(0)
}
