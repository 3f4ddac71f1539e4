use anyhow::anyhow;
use msb_sdk::Sandbox;

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;

// Arguments of `msb wait`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints the exit code of each sandbox's command, in the order given, and exits with the last \
    one.\n\n\
    Examples:\n  \
    msb run -d --name build debian make; msb wait build"
)]
pub(crate) struct Arguments {
    /// Wait for a job of one sandbox instead of the main command
    #[arg(long, value_name = "NUMBER")]
    job: Option<u64>,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut code = 0;
    for name in &arguments.sandboxes {
        let sandbox = context.handle(name).await?;
        code = match arguments.job {
            Some(id) => sandbox.jobs().job(id).wait().await?.code,
            None => main_command(&sandbox).await?,
        };
        output::print(&format!("{code}\n"))?;
    }
    Ok(code)
}

/// Waits for the main command, and returns its exit code.
async fn main_command(sandbox: &Sandbox) -> Result<u8, Failure> {
    let has_command = !sandbox.main_command().argv.is_empty();
    let exit = sandbox.wait().await?;
    if !has_command && exit.ended_s.is_none() {
        let name = sandbox.name();
        return Err(anyhow!("sandbox {name} has not run a command").into());
    }
    Ok(exit.code)
}
