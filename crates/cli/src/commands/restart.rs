use super::machine::MachineArguments;
use super::stop::StopArguments;
use super::{Context, start, stop};
use msb_terminal::failure::Outcome;

// Arguments of `msb restart`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A sandbox that is not running is started.\n\nExamples:\n  msb restart -t 2 web"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    stop: StopArguments,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.stop.sandboxes, async |sandbox| {
            stop::stop(&sandbox, &arguments.stop).await?;
            start::start(context, &sandbox, &arguments.machine).await
        })
        .await
}
