use super::Context;
use crate::failure::Outcome;

// Arguments of `msb kill`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The machine ends at once. Files that the guest had synced are kept; the disk's journal \
    is replayed at the next start."
)]
pub(crate) struct Arguments {
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context
        .each(&arguments.sandboxes, async |sandbox| {
            Ok(sandbox.kill().await?)
        })
        .await
}
