use anyhow::anyhow;

use super::Context;
use crate::failure::Outcome;
use crate::output;

/// Arguments of `msb wait`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints the exit code of each sandbox's command, in the order given; that of the last is \
    msb's own.\n\nExample:\n  msb run -d --name build debian make; msb wait build"
)]
pub(crate) struct Arguments {
    /// Detached sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut code = 0;
    for name in &arguments.sandboxes {
        let sandbox = context.sandbox(name)?;
        sandbox.wait().await?;
        let exit = sandbox
            .exit()?
            .ok_or_else(|| anyhow!("how the command of sandbox {name} ended is not known"))?;
        code = exit.code;
        output::print(&format!("{code}\n"))?;
    }
    Ok(code)
}
