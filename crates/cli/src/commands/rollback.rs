use super::Context;
use super::snapshot::{full_name, split};
use crate::failure::Outcome;
use crate::output;

// Arguments of `msb rollback`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The files are those of the newest snapshot if none is named. The files as they were before are kept as an \
    automatic snapshot, whose name is printed: rolling back to it undoes the rollback. Volumes and host directories stay as \
    they are, and so do the options of the sandbox.\n\n\
    The sandbox must be stopped.\n\n\
    Examples:\n  \
    msb rollback work\n  \
    msb rollback work@clean"
)]
pub(crate) struct Arguments {
    /// Stopped sandbox, by name or id, and the name of its snapshot
    #[arg(value_name = "SANDBOX[@NAME]")]
    snapshot: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let (sandbox, name) = split(&arguments.snapshot);
    let sandbox = context.handle(sandbox).await?;
    let rolled = sandbox.rollback(name).await?;
    output::print(&format!("{}\n", full_name(&rolled.kept)))?;
    Ok(0)
}
