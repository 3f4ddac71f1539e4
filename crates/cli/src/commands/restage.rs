use msb_sdk::Error;

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb restage`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Gives a stopped sandbox the files that its staged directories (-v DIR:PATH:staged) \
    have on this host now. The sandbox keeps its own changes. The files that it sees changed are \
    printed with their msb diff letters. A path that the host and the sandbox changed in \
    different ways is a conflict: msb lists all conflicts and changes nothing.\n\n\
    Snapshots keep the files that they have: a rollback or an undo to one from before brings the \
    host's files of that time back, until the next restage.\n\n\
    Examples:\n  \
    msb restage --dry-run agent      only print what would change\n  \
    msb apply agent && msb stop agent && msb restage agent && msb start agent"
)]
pub(crate) struct Arguments {
    /// Print the changes without making them
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Name or id of a stopped sandbox
    #[arg(value_name = "SANDBOX")]
    name: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.name).await?;
    let restaged = sandbox.restage(arguments.dry_run).await;
    let restaged = restaged.inspect_err(print_conflicts)?;
    let lines = restaged
        .iter()
        .map(|change| format!("{} {}\n", change.kind.letter(), change.path.quoted()));
    output::print(&lines.collect::<String>())?;
    Ok(0)
}

/// Prints every path that both sides changed, if there are several; the error itself names a single one.
fn print_conflicts(error: &Error) {
    let conflicts = error.details().get("conflicts");
    let conflicts = conflicts.and_then(serde_json::Value::as_array);
    for path in conflicts.into_iter().flatten().skip(1) {
        if let Some(path) = path.as_str() {
            output::notice(&format!("both changed {path}"));
        }
    }
}
