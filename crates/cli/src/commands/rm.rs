use msb_runtime::{ConnectError, Sandbox, State};

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output;

// Arguments of `msb rm`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What the sandbox wrote is lost. With --force, a name that no sandbox has is said and is no \
    error, as with docker rm.\n\nExamples:\n  msb rm -f work"
)]
pub(crate) struct Arguments {
    /// Kill those that run, and do not fail for those that are not there
    #[arg(short, long)]
    force: bool,
    /// For docker's sake: a volume without a name goes with its sandbox in any case
    #[arg(short, long, hide = true)]
    volumes: bool,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if !arguments.force {
        let remove = async |sandbox: Sandbox| Ok(sandbox.remove()?);
        return context.each(&arguments.sandboxes, remove).await;
    }
    context
        .each_name(&arguments.sandboxes, async |name| {
            match Sandbox::find(&context.home, name)? {
                Some(sandbox) => remove_by_force(sandbox).await.map(|()| true),
                None => {
                    output::notice(&format!("no such sandbox: {name}"));
                    Ok(false)
                }
            }
        })
        .await
}

async fn remove_by_force(sandbox: Sandbox) -> Result<(), Failure> {
    if sandbox.state()? == State::Running {
        match sandbox.kill().await {
            // The sandbox ended by itself meanwhile.
            Err(ConnectError::NotRunning { .. }) => {}
            other => other?,
        }
    }
    Ok(sandbox.remove()?)
}
