mod list;
mod remove;
mod verify;

use anyhow::anyhow;
use msb_sdk::SnapshotInfo;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output;

/// The separator of a sandbox and its snapshot; neither name can have it.
const SEPARATOR: char = '@';

// Arguments of `msb snapshot`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A snapshot keeps the files of a stopped sandbox as they are. It copies nothing, and takes the space of \
    what changes later. Volumes and host directories are not part of it. msb rollback goes back to one. The snapshots \
    of a sandbox are removed with it.\n\n\
    A sandbox that has or had snapshots runs under QEMU only.\n\n\
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
    /// Take a snapshot of a stopped sandbox
    Create(CreateArguments),
    /// List the snapshots of sandboxes
    #[command(visible_alias = "list")]
    Ls(list::ListArguments),
    /// Print everything about snapshots, as JSON
    Inspect(list::InspectArguments),
    /// Remove snapshots of stopped sandboxes
    #[command(alias = "remove")]
    Rm(remove::RemoveArguments),
    /// Find damage in snapshots of stopped sandboxes
    Verify(verify::Arguments),
    /// Remove the snapshots that rollbacks made, and merge what is left
    Prune(remove::PruneArguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a name the snapshot gets its number. Its name is printed.\n\n\
    Examples:\n  \
    msb snapshot create work\n  \
    msb snapshot create -m 'before the upgrade' work@clean"
)]
struct CreateArguments {
    /// Note on the snapshot
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Stopped sandbox, by name or id, and the name of the snapshot
    #[arg(value_name = "SANDBOX[@NAME]")]
    snapshot: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Create(arguments) => create(context, arguments).await,
        Command::Ls(arguments) => list::list(context, arguments).await,
        Command::Inspect(arguments) => list::inspect(context, arguments).await,
        Command::Rm(arguments) => remove::remove(context, arguments).await,
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
    let missing = || anyhow!("'{word}' names no snapshot: write SANDBOX@NAME");
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
    let message = arguments.message.as_deref();
    let made = sandbox.snapshots().create(name, message).await?;
    output::print(&format!("{}\n", full_name(&made)))?;
    Ok(0)
}
