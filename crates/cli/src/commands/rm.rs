use msb_runtime::{ConnectError, Sandbox, State};

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output;

// Arguments of `msb rm`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The files of the sandbox are lost. With --force, a name that no sandbox has is reported but \
    is not an error, as in docker rm.\n\n\
    Examples:\n  \
    msb rm -f work"
)]
pub(crate) struct Arguments {
    /// Kill running sandboxes, and do not fail for names that do not exist
    #[arg(short, long)]
    force: bool,
    /// Accepted for docker's sake: a volume without a name is removed with its sandbox in any case
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
