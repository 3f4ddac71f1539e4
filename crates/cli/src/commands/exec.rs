use std::time::Duration;

use anyhow::Context as _;
use msb_runtime::exec_in;

use super::Context;
use super::attach::attach;
use super::run::ProcessArguments;
use crate::failure::{Outcome, Vanished};

/// What `timeout` of the coreutils gives.
const EXIT_TIMED_OUT: u8 = 124;

/// Arguments of `msb exec`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command gets the environment, working directory and user that the sandbox was \
    created with, and no entrypoint. It is killed when msb exec is.\n\n\
    Exit code: the command's own; 128+N when signal N killed it; 124 when its time was up; 125 when \
    msb failed, 126 when the command cannot be executed, 127 when there is no such command.\n\n\
    Examples:\n  \
    msb exec work ls -l /root\n  \
    msb exec -it work bash\n  \
    tar c . | msb exec -i -w /srv work tar x"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    process: ProcessArguments,
    /// Kill the command when it takes longer
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Sandbox, by name or id
    sandbox: String,
    /// Command and arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.sandbox(&arguments.sandbox)?;
    let overrides = arguments.process.overrides(None, &arguments.command)?;
    let image = context.store()?.find(&sandbox.spec.image_digest)?;
    let exec = exec_in(&image.record.config, &sandbox.spec.process, &overrides)
        .with_context(|| format!("cannot run a command in {}", arguments.sandbox))?;
    let mut client = sandbox.connect().await?;
    let attached = attach(&mut client, exec);
    let limit = arguments.timeout.map_or(Duration::MAX, Duration::from_secs);
    // Whoever hangs up kills the command.
    match tokio::time::timeout(limit, attached).await {
        Err(_) => Ok(EXIT_TIMED_OUT),
        Ok(code) => Ok(code?.ok_or_else(|| Vanished {
            last_words: sandbox.last_words(),
        })?),
    }
}
