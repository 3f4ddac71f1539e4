use super::Context;
use msb_terminal::failure::Outcome;

// Arguments of `msb pause`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every process of the sandbox is suspended until msb unpause. The machine keeps \
    its memory. msb cp, msb fs and msb snapshot work in a paused sandbox; msb exec does not. \
    --max-duration and --idle-timeout keep counting, and msb stop, msb kill and msb rm -f end the \
    sandbox. msb ps shows it as paused.\n\n\
    Examples:\n  \
    msb pause build; msb snapshot create build@half; msb unpause build"
)]
pub(crate) struct Arguments {
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

// Arguments of `msb unpause`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb pause web; msb unpause web\n  \
    msb unpause $(msb ps -q --filter status=paused)")]
pub(crate) struct UnpauseArguments {
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.sandboxes, async |sandbox| {
            Ok(sandbox.pause().await?)
        })
        .await
}

pub(crate) async fn unpause(context: &Context, arguments: &UnpauseArguments) -> Outcome {
    context
        .each(&arguments.sandboxes, async |sandbox| {
            Ok(sandbox.unpause().await?)
        })
        .await
}
