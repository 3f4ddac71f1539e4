use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::anyhow;

use super::{joined, split_named};
use crate::commands::Context;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::stdout_stream::StdoutStream;
use msb_terminal::{output, terminal};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The file has the disk of the snapshot and its record, compressed and protected \
    by checksums; blocks of zeros take no space. The image is not included. tar --zstd can read \
    the file. It is replaced only when the export is complete.\n\n\
    Examples:\n  \
    msb snapshot export -o clean.msb work@clean\n  \
    msb snapshot export work@clean | ssh host msb snapshot import"
)]
pub(super) struct ExportArguments {
    /// Path of the file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Sandbox, by name or id, and the name of the snapshot
    #[arg(value_name = "SANDBOX@NAME")]
    snapshot: String,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Creates a sandbox with the snapshot and its files, without starting it, and \
    prints the names of both. Every byte of the file is verified against its checksums before the \
    sandbox appears; a failed import leaves nothing behind.\n\n\
    The image must be in the store: pull it with msb pull, or copy it with msb save and msb load. \
    Host directories, volumes, ports and allowed network destinations are not imported, but \
    listed; give them again with msb run --from.\n\n\
    Examples:\n  \
    msb snapshot import -i clean.msb\n  \
    msb snapshot import -i clean.msb work-2; msb start work-2"
)]
pub(super) struct ImportArguments {
    /// Path of the file [default: standard input]
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Name of the new sandbox [default: the exported sandbox's name]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(super) async fn export(context: &Context, arguments: &ExportArguments) -> Outcome {
    let (sandbox, name) = split_named(&arguments.snapshot)?;
    let snapshots = context.handle(sandbox).await?.snapshots();
    let interrupted = |message: &'static str| {
        move |code| Failure::with_exit_code(anyhow!("interrupted: {message}"), code)
    };
    if let Some(path) = path(arguments.output.as_ref()) {
        let exporting = snapshots.export(name, path);
        let interrupted = interrupted("no file was written");
        return context
            .cancellable(exporting, interrupted)
            .await
            .map(|()| 0);
    }
    terminal::refuse_archive("name a file with -o, or redirect the output")?;
    let stdout = StdoutStream::default();
    let is_closed = stdout.closed();
    let interrupted = interrupted("the snapshot on standard output is not complete");
    let exporting = snapshots.export_to(name, stdout);
    match context.cancellable(exporting, interrupted).await {
        // A reader that closed the pipe wants no more.
        Err(_) if is_closed.load(Ordering::Relaxed) => Ok(0),
        exported => exported.map(|()| 0),
    }
}

pub(super) async fn import(context: &Context, arguments: &ImportArguments) -> Outcome {
    let (sandboxes, name) = (context.msb.sandboxes(), arguments.name.as_deref());
    let importing = match path(arguments.input.as_ref()) {
        Some(path) => sandboxes.import_snapshot(path, name),
        None if arguments.input.is_none() && terminal::stdin_is_terminal() => {
            return Err(anyhow!(
                "no snapshot to import: name a file with -i, or pass one on standard input"
            )
            .into());
        }
        None => sandboxes.import_snapshot_from(io::stdin(), name),
    };
    let interrupted = |code| {
        let message = anyhow!("interrupted: nothing was imported");
        Failure::with_exit_code(message, code)
    };
    let sandbox = context.cancellable(importing, interrupted).await?;
    context.print_notices(sandbox.warnings());
    for snapshot in sandbox.snapshots().list().await? {
        let name = joined(&snapshot.sandbox, &snapshot.name);
        output::print(&format!("{name}\n"))?;
    }
    Ok(0)
}

/// Returns the path of a file; `None` for a standard stream.
fn path(given: Option<&PathBuf>) -> Option<PathBuf> {
    given.filter(|path| path.as_os_str() != "-").cloned()
}
