mod entry;
mod stat;

use std::ffi::OsString;
use std::io::{self, Write as _};

use anyhow::anyhow;
use msb_sdk::{Diff, DiffOptions};

use super::Context;
use super::snapshot::split;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Format, Stream};
use entry::Entry;
use stat::Stat;

/// The longest patch that is printed, in bytes: a guest can make files that take no space on its
/// disk and are long in a patch.
const PATCH_MAX_BYTES: usize = 256 << 20;

// Arguments of `msb diff`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "msb diff [OPTIONS] SANDBOX[@SNAPSHOT] [-- PATH...]\n       msb diff [OPTIONS] OLD NEW [-- PATH...]",
    after_help = "Each line has a letter, as in docker diff, and a path: A (added), C (changed) or D (deleted). Of a \
    deleted directory only the directory itself is listed. Files are compared by meaning: a file that was written \
    again with the same content, owner, mode, attributes and time is not changed, a directory is not changed by a \
    change inside it, and the empty files and directories that msb makes to mount something there are left out.\n\n\
    The disks are read without starting a machine. That of a running sandbox is frozen while msb copies it, for at most \
    60 s; what its programs write waits meanwhile.\n\n\
    --patch prints texts as git diff does; git apply and patch -p1 accept it. It cannot express owners, most mode \
    bits, extended attributes, devices, empty directories, hard links and binary files; --format json lists them.\n\n\
    Examples:\n  \
    msb diff work\n  \
    msb diff --stat work -- /etc /srv\n  \
    msb diff --patch work -- /srv/app > work.patch\n  \
    msb diff app:1 app:2                       what a new version of an image brings\n  \
    msb diff work@clean work                   what changed since a snapshot\n  \
    msb diff --format json work | jq -r '.[] | select(.kind == \"deleted\").path'"
)]
pub(crate) struct Arguments {
    /// Sandbox or snapshot to compare with its image; with NEW, the sandbox, snapshot or image to begin
    /// with
    #[arg(value_name = "OLD")]
    old: String,
    /// Sandbox, snapshot or image to end with
    #[arg(value_name = "NEW")]
    new: Option<String>,
    /// Paths to compare, with everything below them; symlinks are not followed
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<OsString>,
    /// Print the number of changed lines of each file
    #[arg(long, conflicts_with_all = ["patch", "name_only"])]
    stat: bool,
    /// Print the changes of texts as a patch
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
    let diff = match &arguments.new {
        Some(new) => context.msb.diff(&arguments.old, new, options).await?,
        None => {
            let (sandbox, snapshot) = split(&arguments.old);
            options.snapshot = snapshot.map(str::to_owned);
            context.handle(sandbox).await?.diff(options).await?
        }
    };
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

pub(super) fn print_names(diff: &Diff, without_letters: bool) -> Outcome {
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

/// Returns the changes with their letters, a line each.
pub(super) fn lines(diff: &Diff) -> String {
    let changes = diff.changes().filter(|change| !change.is_implied);
    let line =
        |change: msb_sdk::Change| format!("{} {}\n", change.kind.letter(), change.quoted_path());
    changes.map(line).collect()
}

/// Prints the changes one by one, because together they may take much memory.
fn print_json(diff: &Diff) -> Outcome {
    let mut separator = "[\n";
    for change in diff.changes().filter(|change| !change.is_implied) {
        let entry = serde_json::to_string(&Entry::new(&change))?;
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
    for index in 0..diff.len() {
        let patch = diff.patch(index).await?;
        partial += usize::from(patch.is_partial);
        printed_bytes += patch.text.len();
        if printed_bytes > PATCH_MAX_BYTES {
            return Err(too_long());
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(&patch.text).and_then(|()| stdout.flush()) {
            // A reader that closed the pipe wants no more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
            written => written.map_err(|error| Stream::Stdout.unwritable(error))?,
        }
    }
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
