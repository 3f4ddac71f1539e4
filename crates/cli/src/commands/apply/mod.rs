use std::ffi::OsString;
use std::path::{Path, PathBuf};

use msb_sdk::{Applied, ApplyOptions, ApplyPlan, ChangeKind, Error, Text};
use serde::Serialize;

use super::Context;
use super::patterns::{Patterns, patterns_help};
use super::snapshot::split;
use msb_terminal::confirm;
use msb_terminal::failure::{Outcome, printable};
use msb_terminal::output::{self, Format};
use msb_terminal::text_or_base64::text_or_base64;

mod review;
mod staged;

// Arguments of `msb apply`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = concat!("Applies the changes that msb diff shows: the differences between the \
    sandbox and its initial files, or those of --base. A path in the sandbox maps to the same path \
    below DIR; with --from, DIR corresponds to that directory of the sandbox, and changes outside \
    it are left out. Each change to a file of this host is printed with its msb diff letter.\n\n\
    A file that already matches the sandbox's is skipped. A file that matches neither the initial \
    nor the current file of the sandbox is a conflict: msb lists all conflicts and applies \
    nothing. Content and permissions are compared; permissions that the sandbox did not change are \
    kept. No symlink below DIR is followed.\n\n\
    The disk of a running sandbox is frozen while msb takes its state, for at most 1 s; writes by \
    its programs wait until then.\n\n\
    Repositories of git (.git) are left out, unless a PATH or an --include leads into one. Changes \
    that make programs of this host run commands, such as .envrc, .vscode, .git/hooks or .bashrc, \
    are listed before anything is written. They are applied if you confirm at a terminal, or with \
    --accept. The list is in docs/diff.md.\n\n\
    Without DIR, the changes of directories that were mounted with :staged go into the directories \
    that they were made of: all of them, or none if one has a conflict. A change that a rule \
    (--rule) keeps back is listed with the letter R.\n\n\
    With -i, answer y, n, q (quit), a (all of this file), d (none of this file) or s (split), or ? for \
    help. Changes that make programs run commands, or that a default rule keeps back, are asked for \
    too. A text that this host changed in other lines is merged.\n\n\
    --then-discard brings the sandbox's initial files back where all of a file's change was applied; \
    msb restage then shows this host's files there.\n\n\
    All new files are written next to the old ones and synced; then they take their places. If \
    the command is interrupted, the next one does the rest. A file that you save at the same moment \
    is left, and named.\n\n",
    patterns_help!(),
    "Examples:\n  \
    msb apply --dry-run --from /work agent project            only print the changes\n  \
    msb apply --from /work agent project                      changes since msb create --copy\n  \
    msb apply --from /work agent@green project                changes up to a snapshot\n  \
    msb apply --from /work --exclude node_modules/ --accept /work/.envrc agent project\n  \
    msb apply --from /work agent project /work/src\n  \
    msb apply agent                                           staged directories, into their sources\n  \
    msb apply agent -- /work/src\n  \
    msb apply -i agent                                        choose files and hunks\n  \
    mkdir changed && msb apply agent changed                  all changed files, in a new directory")
)]
pub(crate) struct Arguments {
    /// Print the changes without applying them
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Ask for each file, and for each hunk of a text, as git add -p does
    #[arg(short, long, conflicts_with = "dry_run")]
    interactive: bool,
    /// Discard the applied changes from the sandbox, which must be stopped
    #[arg(long, conflicts_with = "base")]
    then_discard: bool,
    /// Directory in the sandbox that corresponds to DIR [default: /]
    #[arg(long, value_name = "PATH")]
    from: Option<OsString>,
    /// Sandbox, snapshot or image to compare with [default: the sandbox's initial files]
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    #[command(flatten)]
    patterns: Patterns,
    /// Apply changes at or below this path in the sandbox even if they make programs of this host
    /// run commands; can be given several times
    #[arg(long, value_name = "PATH")]
    accept: Vec<OsString>,
    /// Apply owners, setuid and setgid bits, and file capabilities too, as root
    #[arg(long)]
    owner: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Name or id of a sandbox, and the name of a snapshot
    #[arg(value_name = "SANDBOX[@SNAPSHOT]")]
    name: String,
    /// Existing directory of this host [default: the directories that were staged]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Paths in the sandbox, from its root; symlinks are not followed
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// The same without DIR
    #[arg(value_name = "PATH", last = true)]
    staged_paths: Vec<OsString>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let (name, snapshot) = split(&arguments.name);
    let sandbox = context.handle(name).await?;
    let mut options = ApplyOptions::default();
    for path in arguments.paths.iter().chain(&arguments.staged_paths) {
        options = options.path(path.as_os_str());
    }
    if let Some(from) = &arguments.from {
        options = options.from(from.as_os_str());
    }
    options.base.clone_from(&arguments.base);
    options.owner = arguments.owner;
    options.dry_run = arguments.dry_run;
    options.snapshot = snapshot.map(str::to_owned);
    options.exclude = arguments.patterns.exclude();
    options.include = arguments.patterns.include();
    for path in &arguments.accept {
        options = options.accept(path.as_os_str());
    }
    options.then_discard = arguments.then_discard;
    if arguments.interactive {
        review::check_terminal()?;
        // Each change is asked for, also those that are kept back or refused unless they are accepted.
        options = options.accept("/").merges();
    }
    let plan = sandbox.plan_apply(arguments.directory.clone(), options);
    let plan = plan.await?;
    plan.check().inspect_err(print_conflicts)?;
    if arguments.interactive {
        review::review(&plan).await?;
    } else if !arguments.dry_run && print_unaccepted(&plan) {
        let agreed = confirm::agreed("These changes are applied with all others.")?;
        if agreed {
            plan.accept();
        }
    }
    let applied = plan.run().await.inspect_err(print_conflicts)?;
    if !context.quiet {
        for one in &applied {
            print_notices(&one.applied, &one.directory, arguments.dry_run);
        }
    }
    match (arguments.format, &arguments.directory, &applied[..]) {
        (Format::Json, Some(_), [one]) => output::print_json(&Report::new(&one.applied))?,
        (Format::Json, ..) => staged::print_json(&applied)?,
        _ => {
            for one in &applied {
                print(&one.applied, &one.directory)?;
            }
        }
    }
    Ok(0)
}

/// The applied changes, as they are printed in JSON.
#[derive(Serialize)]
struct Report {
    changes: Vec<Entry>,
    sockets: Vec<Entry>,
    left_out: Vec<Entry>,
    marked: Vec<MarkedEntry>,
    refused: Vec<RefusedEntry>,
}

/// A change that a rule keeps back.
#[derive(Serialize)]
struct RefusedEntry {
    #[serde(flatten)]
    file: Entry,
    sandbox_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_path_base64: Option<String>,
    state: String,
    rule: String,
}

/// A change that has an effect beyond its file.
#[derive(Serialize)]
struct MarkedEntry {
    #[serde(flatten)]
    file: Entry,
    sandbox_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_path_base64: Option<String>,
    effect: String,
    needs_acceptance: bool,
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
        let entries = |paths: &[Text]| paths.iter().map(|path| entry(path, None)).collect();
        let marked = applied.marked.iter().map(|marked| {
            let (sandbox_path, sandbox_path_base64) =
                text_or_base64(marked.sandbox_path.as_bytes());
            MarkedEntry {
                file: entry(&marked.path, None),
                sandbox_path,
                sandbox_path_base64,
                effect: marked.effect.clone(),
                needs_acceptance: marked.needs_acceptance,
            }
        });
        Self {
            changes: changes
                .map(|change| entry(&change.path, Some(change.kind)))
                .collect(),
            sockets: entries(&applied.sockets),
            left_out: entries(&applied.left_out),
            marked: marked.collect(),
            refused: applied
                .refused
                .iter()
                .map(|refused| {
                    let (sandbox_path, sandbox_path_base64) =
                        text_or_base64(refused.sandbox_path.as_bytes());
                    RefusedEntry {
                        file: entry(&refused.path, None),
                        sandbox_path,
                        sandbox_path_base64,
                        state: refused.state.clone(),
                        rule: refused.rule.clone(),
                    }
                })
                .collect(),
        }
    }
}

/// Prints every file that is in the way or was left, if there are several; the error itself names a single one.
fn print_conflicts(error: &Error) {
    print_left(error);
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

/// Prints every file that was left because this host changed it, if there are several.
fn print_left(error: &Error) {
    let left = error.details().get("left");
    let left = left.and_then(serde_json::Value::as_array);
    let Some(left) = left.filter(|left| left.len() > 1) else {
        return;
    };
    for left in left {
        let text = |key: &str| left.get(key).and_then(serde_json::Value::as_str);
        if let Some(path) = text("path") {
            let kept = text("kept").map(|kept| format!("; an earlier edit of it is {kept}"));
            output::notice(&format!(
                "{path} changed while the changes were applied, and is left{}",
                kept.unwrap_or_default()
            ));
        }
    }
}

/// Prints the changes of all directories that are not accepted. Returns true if there are any.
fn print_unaccepted(plan: &ApplyPlan) -> bool {
    let changes = plan.changes().into_iter();
    let mut has_any = false;
    for change in changes.filter(|change| change.needs_acceptance) {
        if let Some(effect) = &change.effect {
            let path = on_host(&change.directory, &change.path);
            output::notice(&format!("{path}: {effect}"));
            has_any = true;
        }
    }
    has_any
}

/// Says what was left out, and what a reviewer has to know of the rest.
fn print_notices(applied: &Applied, directory: &Path, is_dry_run: bool) {
    for path in applied.quoted_sockets() {
        output::notice(&format!("the socket {path} is left out"));
    }
    for path in &applied.left_out {
        let path = path.quoted();
        output::notice(&format!(
            "the changes of the repository {path} are left out; name it as a PATH to apply them"
        ));
    }
    for marked in &applied.marked {
        if is_dry_run || !marked.needs_acceptance {
            let path = on_host(directory, &marked.path);
            output::notice(&format!("{path}: {}", marked.effect));
        }
    }
}

/// Returns the path of a file of the directory on one line.
fn on_host(directory: &Path, path: &Text) -> String {
    Text::from(directory.join(path.to_path()).as_os_str()).quoted()
}

fn print(applied: &Applied, directory: &Path) -> std::io::Result<()> {
    for change in &applied.changes {
        let path = on_host(directory, &change.path);
        let line = format!("{} {path}\n", change.kind.letter());
        if !output::offer(&line)? {
            return Ok(());
        }
    }
    for refused in &applied.refused {
        let path = on_host(directory, &refused.path);
        let rule = printable(&refused.rule);
        if !output::offer(&format!("R {path} ({rule})\n"))? {
            break;
        }
    }
    Ok(())
}
