use std::ffi::OsString;

use anyhow::anyhow;
use msb_sdk::DiscardOptions;

use super::Context;
use super::patterns::{Patterns, patterns_help};
use super::snapshot::split;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb discard`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = concat!("Restores the sandbox's initial files at and below each PATH: those of \
    its image, changed by --copy, --mkdir, --rm-path and similar options before its first boot. \
    With --base, restores the files of another sandbox, snapshot or image. All other changes are \
    kept. Each change is printed with its msb diff letter; D is a deleted file. The changes cannot \
    be undone, unless a snapshot has the files.\n\n\
    The sandbox must be stopped, because its disk is replaced: a new disk is written next to the \
    old one and replaces it when it is complete.\n\n",
    patterns_help!(),
    "Examples:\n  \
    msb discard --dry-run work /etc                    only print the changes\n  \
    msb discard work /etc /usr/local/bin\n  \
    msb discard --base work@green work /srv/app        the files of a snapshot\n  \
    msb discard --exclude '*.md' work /srv\n  \
    msb discard work /                                 all files")
)]
pub(crate) struct Arguments {
    /// Print the changes without making them
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Sandbox, snapshot or image to take the files from [default: the sandbox's initial files]
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    #[command(flatten)]
    patterns: Patterns,
    /// Name or id of a stopped sandbox
    #[arg(value_name = "SANDBOX")]
    name: String,
    /// Paths in the sandbox; symlinks are not followed
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if let (sandbox, Some(_)) = split(&arguments.name) {
        return Err(anyhow!(
            "a snapshot cannot be changed; write msb discard --base {} {sandbox} PATH to take \
             files of {sandbox} back to it",
            arguments.name
        )
        .into());
    }
    let sandbox = context.handle(&arguments.name).await?;
    let mut options = DiscardOptions::default();
    for path in &arguments.paths {
        options = options.path(path.as_os_str());
    }
    options.exclude = arguments.patterns.exclude();
    options.include = arguments.patterns.include();
    options.base.clone_from(&arguments.base);
    options.dry_run = arguments.dry_run;
    let discarded = sandbox.discard_with(options).await?;
    let lines = discarded
        .iter()
        .map(|change| format!("{} {}\n", change.kind.letter(), change.path.quoted()));
    output::print(&lines.collect::<String>())?;
    Ok(0)
}
