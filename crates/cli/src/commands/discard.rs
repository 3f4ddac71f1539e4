use std::ffi::OsString;

use msb_sdk::DiffOptions;

use super::Context;
use super::diff::print_names;
use crate::failure::Outcome;

// Arguments of `msb discard`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The files at and below each PATH are then those of the image: files that were added are removed, \
    changed and deleted ones are as before. All other changes stay. The changes that are taken back are printed as \
    msb diff prints them. They cannot be brought back, unless a snapshot has them.\n\n\
    The sandbox must be stopped, because its disk is replaced: a new disk is written beside the old one and takes its place when it is complete.\n\n\
    Examples:\n  \
    msb discard --dry-run work /etc        what would be taken back\n  \
    msb discard work /etc /usr/local/bin\n  \
    msb discard work /                     everything"
)]
pub(crate) struct Arguments {
    /// Print the changes, and take none back
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Name or id of a stopped sandbox
    #[arg(value_name = "SANDBOX")]
    name: String,
    /// Paths in the sandbox; symlinks are not followed
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.name).await?;
    // A running sandbox would be refused afterwards.
    let mut options = DiffOptions::default().pause(false);
    for path in &arguments.paths {
        options = options.path(path.as_os_str());
    }
    let diff = sandbox.diff(options).await?;
    if arguments.dry_run {
        return print_names(&diff, false);
    }
    let lines = super::diff::lines(&diff);
    // The disks are read until the diff is dropped.
    drop(diff);
    let paths = arguments.paths.iter().map(OsString::as_os_str);
    sandbox.discard(paths).await?;
    crate::output::print(&lines)?;
    Ok(0)
}
