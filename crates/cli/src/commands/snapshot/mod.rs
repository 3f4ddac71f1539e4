mod archive;
mod list;
mod remove;
mod verify;

use anyhow::anyhow;
use msb_sdk::{SnapshotInfo, SnapshotOptions};

use super::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;

/// The separator of a sandbox and its snapshot; neither name can have it.
const SEPARATOR: char = '@';

// Arguments of `msb snapshot`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A snapshot keeps the current files of a sandbox, running or stopped. It copies \
    nothing, and uses space only for later changes. Volumes and host directories are not included. \
    msb rollback goes back to a snapshot. Removing a sandbox removes its snapshots.\n\n\
    Examples:\n  \
    msb snapshot create -m 'before the upgrade' work@clean\n  \
    msb snapshot ls work; msb rollback work@clean"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Take a snapshot of a sandbox
    Create(CreateArguments),
    /// List the snapshots of sandboxes
    #[command(visible_alias = "list")]
    Ls(list::ListArguments),
    /// Print the details of snapshots as JSON
    Inspect(list::InspectArguments),
    /// Remove snapshots
    #[command(alias = "remove")]
    Rm(remove::RemoveArguments),
    /// Write a snapshot to a file that another host can import
    Export(archive::ExportArguments),
    /// Create a sandbox from an exported snapshot
    Import(archive::ImportArguments),
    /// Check snapshots for damage
    Verify(verify::Arguments),
    /// Remove snapshots made by rollbacks and commands, and merge the rest
    Prune(remove::PruneArguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a name, the snapshot is named by its number. msb prints the name.\n\n\
    The guest of a running sandbox flushes its writes and blocks writers for a moment. If its \
    agent does not answer, or with --no-freeze, the snapshot is as after a power cut: it has only \
    what was synced. The consistency is recorded: clean (the sandbox was stopped), frozen or \
    crash.\n\n\
    Examples:\n  \
    msb snapshot create work\n  \
    msb snapshot create -m 'before the upgrade' work@clean"
)]
struct CreateArguments {
    /// Note on the snapshot
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Do not freeze the filesystem of a running guest
    #[arg(long)]
    no_freeze: bool,
    /// Sandbox, by name or id, and the name of the snapshot
    #[arg(value_name = "SANDBOX[@NAME]")]
    snapshot: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Create(arguments) => create(context, arguments).await,
        Command::Ls(arguments) => list::list(context, arguments).await,
        Command::Inspect(arguments) => list::inspect(context, arguments).await,
        Command::Rm(arguments) => remove::remove(context, arguments).await,
        Command::Export(arguments) => archive::export(context, arguments).await,
        Command::Import(arguments) => archive::import(context, arguments).await,
        Command::Verify(arguments) => verify::run(context, arguments).await,
        Command::Prune(arguments) => remove::prune(context, arguments).await,
    }
}

/// Splits `SANDBOX[@NAME]`.
pub(super) fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once(SEPARATOR) {
        Some((sandbox, name)) => (sandbox, Some(name)),
        None => (word, None),
    }
}

/// Splits `SANDBOX@NAME`.
fn split_named(word: &str) -> Result<(&str, &str), Failure> {
    let (sandbox, name) = split(word);
    let missing = || anyhow!("'{word}' is not a snapshot: write SANDBOX@NAME");
    Ok((sandbox, name.ok_or_else(missing)?))
}

/// Returns `SANDBOX@NAME`.
pub(super) fn full_name(snapshot: &SnapshotInfo) -> String {
    joined(&snapshot.sandbox, &snapshot.name)
}

fn joined(sandbox: &str, name: &str) -> String {
    format!("{sandbox}{SEPARATOR}{name}")
}

async fn create(context: &Context, arguments: &CreateArguments) -> Outcome {
    let (sandbox, name) = split(&arguments.snapshot);
    let sandbox = context.handle(sandbox).await?;
    let mut options = SnapshotOptions::default();
    options.name = name.map(str::to_owned);
    options.message.clone_from(&arguments.message);
    options.freeze = !arguments.no_freeze;
    let made = sandbox.snapshots().create_with(options).await?;
    output::print(&format!("{}\n", full_name(&made)))?;
    Ok(0)
}
