mod entry;
mod stat;

use std::ffi::OsString;

use anyhow::anyhow;
use msb_sdk::{Diff, DiffOptions};

use super::Context;
use super::patterns::{Patterns, patterns_help};
use super::snapshot::split;
use entry::Entry;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::foreign_output::ForeignOutput;
use msb_terminal::output::{self, Format};
use stat::Stat;

/// The longest patch that is printed, in bytes: a guest can make files that take no space on its
/// disk and are long in a patch.
const PATCH_MAX_BYTES: usize = 256 << 20;

// Arguments of `msb diff`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "msb diff [OPTIONS] SANDBOX[@SNAPSHOT] [-- PATH...]\n       msb diff [OPTIONS] OLD NEW [-- PATH...]",
    after_help = concat!("A sandbox is compared with its initial files: those of its image, \
    changed by --copy, --mkdir, --rm-path and similar options before its first boot. msb diff \
    IMAGE SANDBOX compares it with the unchanged image.\n\n\
    Each line has a letter, as in docker diff, and a path: A (added), C (changed) or D (deleted). \
    Only the top directory of a deleted tree is listed. Files are compared by content and \
    metadata: a file that was rewritten with the same content, owner, mode, attributes and time is \
    unchanged, a change inside a directory does not change the directory, and the empty files and \
    directories that msb creates as mount points are left out.\n\n\
    msb reads the disks without starting a machine. The disk of a running sandbox is frozen while \
    msb takes its state, for at most 1 s; writes by its programs wait until then.\n\n\
    --patch prints changes to text files in the format of git diff, which git apply and patch -p1 \
    accept. On a terminal, control and invisible characters are escaped. A patch cannot express \
    owners, most mode bits, extended attributes, devices, empty directories, hard links and binary \
    files; --format json lists them.\n\n",
    patterns_help!(),
    "Examples:\n  \
    msb diff work\n  \
    msb diff --stat work -- /etc /srv\n  \
    msb diff --exclude .git --exclude '*.pyc' work\n  \
    msb diff --patch work -- /srv/app > work.patch\n  \
    msb diff app:1 app:2                       changes in a new version of an image\n  \
    msb diff work@clean work                   changes since a snapshot\n  \
    msb diff --format json work | jq -r '.[] | select(.kind == \"deleted\").path'")
)]
pub(crate) struct Arguments {
    /// Sandbox or snapshot to compare with its initial files; with NEW, the sandbox, snapshot or
    /// image to compare from
    #[arg(value_name = "OLD")]
    old: String,
    /// Sandbox, snapshot or image to compare to
    #[arg(value_name = "NEW")]
    new: Option<String>,
    /// Paths to compare, with everything below them; symlinks are not followed
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<OsString>,
    #[command(flatten)]
    patterns: Patterns,
    /// Print the number of changed lines of each file
    #[arg(long, conflicts_with_all = ["patch", "name_only"])]
    stat: bool,
    /// Print the changes to text files as a patch
    #[arg(short, long, conflicts_with = "name_only")]
    patch: bool,
    /// Print paths without letters
    #[arg(long)]
    name_only: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, conflicts_with_all = ["stat", "patch", "name_only"])]
    format: Format,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut options = DiffOptions::default();
    for path in &arguments.paths {
        options = options.path(path.as_os_str());
    }
    options.exclude = arguments.patterns.exclude();
    options.include = arguments.patterns.include();
    let diff = match &arguments.new {
        // No sandbox and no image has such a name.
        Some(path) if path.starts_with('/') => return Err(path_in_place(&arguments.old, path)),
        Some(new) => context.msb.diff(&arguments.old, new, options).await?,
        None => {
            let (sandbox, snapshot) = split(&arguments.old);
            options.snapshot = snapshot.map(str::to_owned);
            context.handle(sandbox).await?.diff(options).await?
        }
    };
    if arguments.paths.is_empty() && !diff.has_root() && !context.quiet {
        output::notice("only the staged directories were compared: a native root cannot be");
    }
    if arguments.stat {
        print_stat(&diff).await
    } else if arguments.patch {
        print_patch(context, &diff).await
    } else if matches!(arguments.format, Format::Json) {
        print_json(&diff)
    } else {
        print_names(&diff, arguments.name_only)
    }
}

fn path_in_place(old: &str, path: &str) -> Failure {
    anyhow!(
        "{path} is neither a sandbox nor an image: write paths behind --, as in msb diff {old} -- {path}"
    )
    .into()
}

fn print_names(diff: &Diff, without_letters: bool) -> Outcome {
    for change in diff.changes().filter(|change| !change.is_implied) {
        let path = change.quoted_path();
        let line = if without_letters {
            format!("{path}\n")
        } else {
            format!("{} {path}\n", change.kind.letter())
        };
        if !output::offer(&line)? {
            break;
        }
    }
    Ok(0)
}

/// Prints the changes one by one, because together they may take much memory.
fn print_json(diff: &Diff) -> Outcome {
    let mut separator = "[\n";
    for change in diff.changes().filter(|change| !change.is_implied) {
        let entry = output::json_line(&Entry::new(&change))?;
        if !output::offer(&format!("{separator}  {entry}"))? {
            return Ok(0);
        }
        separator = ",\n";
    }
    output::print(if separator == "[\n" { "[]\n" } else { "\n]\n" })?;
    Ok(0)
}

async fn print_stat(diff: &Diff) -> Outcome {
    let mut stat = Stat::default();
    for (index, change) in diff.changes().enumerate() {
        stat.add(&change, diff.patch(index).await?.lines);
    }
    output::print(&stat.to_string())?;
    Ok(0)
}

async fn print_patch(context: &Context, diff: &Diff) -> Outcome {
    let (mut printed_bytes, mut partial) = (0, 0);
    let mut shown = ForeignOutput::stdout();
    for index in 0..diff.len() {
        let patch = diff.patch(index).await?;
        partial += usize::from(patch.is_partial);
        printed_bytes += patch.text.len();
        if printed_bytes > PATCH_MAX_BYTES {
            return Err(too_long());
        }
        if !shown.offer(&patch.text)? {
            // A reader that closed the pipe wants no more.
            return Ok(0);
        }
    }
    shown.finish(context.quiet)?;
    if partial > 0 && !context.quiet {
        output::notice(&format!(
            "{partial} of {} changes cannot be expressed fully in a patch; --format json lists them",
            diff.len()
        ));
    }
    Ok(0)
}

fn too_long() -> Failure {
    anyhow!(
        "the patch is longer than {} MiB; name the paths to compare, such as -- /etc, or use --stat",
        PATCH_MAX_BYTES >> 20
    )
    .into()
}
