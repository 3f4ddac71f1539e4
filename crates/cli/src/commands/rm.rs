use msb_sdk::{ErrorKind, Force};

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

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
    /// Ignored (docker compatibility): unnamed volumes are always removed with their sandbox
    #[arg(short, long, hide = true)]
    volumes: bool,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let force = if arguments.force {
        Force::Yes
    } else {
        Force::No
    };
    let sandboxes = context.msb.sandboxes();
    context
        .each_name(&arguments.sandboxes, async |name| {
            match sandboxes.get(name).await {
                Ok(sandbox) => Ok(sandbox.remove(force).await.map(|()| true)?),
                Err(error) if error.kind() != ErrorKind::SandboxNotFound => {
                    let is_removed = sandboxes.remove_unreadable(name, force).await?;
                    if is_removed {
                        Ok(true)
                    } else {
                        Err(error.into())
                    }
                }
                Err(error) if arguments.force => {
                    output::notice(error.message());
                    Ok(false)
                }
                Err(error) => Err(error.into()),
            }
        })
        .await
}
