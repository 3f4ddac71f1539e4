use std::time::Duration;

use anyhow::anyhow;
use msb_runtime::{Exit, Sandbox};

use super::{Context, jobs};
use crate::failure::{Failure, Outcome};
use crate::output;

/// The interval at which a job's state is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

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
        let sandbox = context.sandbox(name)?;
        let exit = match arguments.job {
            Some(id) => job(&sandbox, id).await?,
            None => first_command(&sandbox).await?,
        };
        code = exit.code;
        output::print(&format!("{code}\n"))?;
    }
    Ok(code)
}

async fn first_command(sandbox: &Sandbox) -> Result<Exit, Failure> {
    sandbox.wait().await?;
    let name = &sandbox.spec.name;
    let exit = sandbox.condition()?.exit;
    Ok(exit.ok_or_else(|| anyhow!("sandbox {name} has not run a command"))?)
}

async fn job(sandbox: &Sandbox, id: u64) -> Result<Exit, Failure> {
    loop {
        if let Some(exit) = jobs::find(sandbox, id)?.exit {
            return Ok(exit);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
