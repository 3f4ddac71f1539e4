use std::ffi::OsString;
use std::path::{Path, PathBuf};

use msb_sdk::{Applied, ApplyOptions, ChangeKind, Error, Text};
use serde::Serialize;

use super::Context;
use crate::failure::Outcome;
use crate::output::{self, Format};
use crate::text_or_base64::text_or_base64;

// Arguments of `msb apply`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The changes are those that msb diff shows: of the sandbox against its image, or against --base. A path of \
    the sandbox is put below DIR; with --from, DIR stands for that directory of the sandbox, and changes outside of \
    it are left out. The changes of this host's files are printed with the letters of msb diff.\n\n\
    A file that this host has as the sandbox has it counts as done. A file that is neither what the sandbox began with \
    nor what it has now is a conflict: all of them are named, and nothing is done. Content and permissions are \
    compared; permissions that the sandbox did not change stay as they are. No symlink below DIR is followed.\n\n\
    The disk of a running sandbox is frozen while msb copies it, for at most 60 s; what its programs write waits meanwhile.\n\n\
    Each file is written beside the old one, synced and renamed over it. If the command is interrupted, run it again.\n\n\
    Examples:\n  \
    msb apply --dry-run --from /work agent project            what would be done\n  \
    msb apply --from /work --base before agent project        compared with the sandbox before\n  \
    msb apply --from /work agent project /work/src\n  \
    mkdir changed && msb apply agent changed                  every changed file, below a new directory"
)]
pub(crate) struct Arguments {
    /// Print what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Directory of the sandbox that DIR stands for [default: /]
    #[arg(long, value_name = "PATH")]
    from: Option<OsString>,
    /// Sandbox or image to compare with [default: the sandbox's image]
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    /// Apply owners, setuid and setgid bits, and file capabilities too, as root
    #[arg(long)]
    owner: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Name or id of a sandbox
    #[arg(value_name = "SANDBOX")]
    name: String,
    /// Existing directory of this host
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Paths in the sandbox, from its root; symlinks are not followed
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.name).await?;
    let mut options = ApplyOptions::default();
    for path in &arguments.paths {
        options = options.path(path.as_os_str());
    }
    if let Some(from) = &arguments.from {
        options = options.from(from.as_os_str());
    }
    options.base.clone_from(&arguments.base);
    options.owner = arguments.owner;
    options.dry_run = arguments.dry_run;
    let applied = sandbox.apply(&arguments.directory, options).await;
    let applied = applied.inspect_err(print_conflicts)?;
    if !context.quiet {
        for path in applied.quoted_sockets() {
            output::notice(&format!("the socket {path} is left out"));
        }
    }
    if matches!(arguments.format, Format::Json) {
        output::print_json(&Report::new(&applied))?;
    } else {
        print(&applied, &arguments.directory)?;
    }
    Ok(0)
}

/// The applied changes, as they are printed in JSON.
#[derive(Serialize)]
struct Report {
    changes: Vec<Entry>,
    sockets: Vec<Entry>,
}

/// A file of the directory.
#[derive(Serialize)]
struct Entry {
    /// `None` if the path is not UTF-8.
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<ChangeKind>,
}

impl Report {
    fn new(applied: &Applied) -> Self {
        let entry = |path: &Text, kind| {
            let (path, path_base64) = text_or_base64(path.as_bytes());
            Entry {
                path,
                path_base64,
                kind,
            }
        };
        let changes = applied.changes.iter();
        let sockets = applied.sockets.iter();
        Self {
            changes: changes
                .map(|change| entry(&change.path, Some(change.kind)))
                .collect(),
            sockets: sockets.map(|path| entry(path, None)).collect(),
        }
    }
}

/// Prints every file that is in the way, if there are several; the error itself names a single one.
fn print_conflicts(error: &Error) {
    let conflicts = error.details().get("conflicts");
    let conflicts = conflicts.and_then(serde_json::Value::as_array);
    let Some(conflicts) = conflicts.filter(|conflicts| conflicts.len() > 1) else {
        return;
    };
    for conflict in conflicts {
        let text = |key: &str| conflict.get(key).and_then(serde_json::Value::as_str);
        if let (Some(path), Some(reason)) = (text("path"), text("reason")) {
            output::notice(&format!("cannot change {path}: {reason}"));
        }
    }
}

fn print(applied: &Applied, directory: &Path) -> std::io::Result<()> {
    for change in &applied.changes {
        let path = directory.join(change.quoted_path());
        let line = format!("{} {}\n", change.kind.letter(), path.display());
        if !output::offer(&line)? {
            break;
        }
    }
    Ok(())
}
