use msb_runtime::{ReachError, State};

use super::Context;
use crate::failure::Outcome;

// Arguments of `msb rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "What the sandbox wrote is lost.\n\nExamples:\n  msb rm -f work")]
pub(crate) struct Arguments {
    /// Kill those that run
    #[arg(short, long)]
    force: bool,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.sandboxes, async |sandbox| {
            if arguments.force && sandbox.state()? == State::Running {
                match sandbox.kill().await {
                    // It ended by itself meanwhile.
                    Err(ReachError::NotRunning { .. }) => {}
                    other => other?,
                }
            }
            Ok(sandbox.remove()?)
        })
        .await
}
