//! Changes of a sandbox, put into a directory of the host.

mod options;

use std::path::PathBuf;

use msb_runtime::{ApplyError, Diff as DiskDiff, DiffSide, HostAction, HostChanges, Marked};
use serde::Serialize;

pub use options::ApplyOptions;

use crate::diff::find;
use crate::unfinished::Effect;
use crate::{ChangeKind, Error, Operation, Sandbox, Text};

/// Changes that were put into a directory of the host, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Applied {
    /// The changes of the host's files, parents before children. Of a removed directory only the
    /// directory itself is listed.
    pub changes: Vec<AppliedChange>,
    /// Paths in the directory of changed sockets, which are left out.
    pub sockets: Vec<Text>,
    /// Paths in the sandbox of the repositories of git, `.git`, whose changes are left out: none of the
    /// chosen paths leads into them.
    pub left_out: Vec<Text>,
    /// The changes that have an effect beyond their files.
    pub marked: Vec<MarkedChange>,
}

/// A change that has an effect beyond its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MarkedChange {
    /// The path in the directory of the host, without a leading slash.
    pub path: Text,
    /// The path in the sandbox, with a leading slash.
    pub sandbox_path: Text,
    /// The effect, as a clause.
    pub effect: String,
    /// True if the change is applied only once its path is accepted ([`ApplyOptions::accept`]).
    pub needs_acceptance: bool,
}

impl MarkedChange {
    fn new(marked: &Marked) -> Self {
        Self {
            path: marked.path.clone().into(),
            sandbox_path: marked.sandbox_path.clone().into(),
            effect: marked.effect.to_string(),
            needs_acceptance: marked.needs_acceptance,
        }
    }
}

/// A change of a file of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AppliedChange {
    /// The path in the directory, without a leading slash.
    pub path: Text,
    /// The kind of the change.
    pub kind: ChangeKind,
}

impl Applied {
    /// Returns the paths of the sockets on one line each.
    pub fn quoted_sockets(&self) -> impl Iterator<Item = String> + '_ {
        self.sockets.iter().map(Text::quoted)
    }
}

impl AppliedChange {
    /// Returns the path on one line, as [`Text::quoted`] does.
    pub fn quoted_path(&self) -> String {
        self.path.quoted()
    }
}

impl Sandbox {
    /// Puts the changes of the sandbox into a directory of the host. What the host has already counts
    /// as done, and no symlink below the directory is followed. The disk of a running sandbox is
    /// frozen and copied, as by [`Sandbox::diff`].
    ///
    /// If a file of the host is neither what the sandbox began with nor what it has now, nothing is
    /// changed. A process that is killed leaves each file old or new; the next call does the rest.
    ///
    /// ```no_run
    /// use msb_sdk::ApplyOptions;
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let options = ApplyOptions::default().from("/work").base("before").dry_run();
    /// for change in sandbox.apply("project", options).await?.changes {
    ///     println!("{} {}", change.kind.letter(), change.path);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PathNotFound`](crate::ErrorKind::PathNotFound) if the directory or one of the paths does
    /// not exist, [`PathExists`](crate::ErrorKind::PathExists) if files of the host are in the way:
    /// the detail `conflicts` lists them with their reasons. For a running sandbox also the errors of
    /// [`Sandbox::diff`].
    pub fn apply(
        &self,
        directory: impl Into<PathBuf>,
        options: ApplyOptions,
    ) -> Operation<Applied> {
        let directory = directory.into();
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                let (apply, scope) = options.apply()?;
                let (shared, pause) = (&handle.shared, options.pause);
                let base = match options.base {
                    Some(base) => {
                        let finding = shared.with_home(move |shared| find(shared, &base)).await;
                        Some(finding?.side(shared, pause).await?)
                    }
                    None => None,
                };
                let stored = handle.stored();
                let at_rest = shared.at_rest_or_snapshot(&stored, options.snapshot, pause);
                let new = at_rest.await?;
                let applying = shared.with_home(move |shared| {
                    let home = shared.home();
                    let diff = match base {
                        Some(old) => {
                            DiskDiff::between(home, old, DiffSide::Sandbox(Box::new(new)), &scope)?
                        }
                        None => DiskDiff::of_sandbox(home, new, &scope)?,
                    };
                    let planned = HostChanges::plan(&diff, &directory, apply)?;
                    run(&planned, options.dry_run)
                });
                applying.await
            })
    }
}

fn run(planned: &HostChanges<'_>, dry_run: bool) -> Result<Applied, Error> {
    if !dry_run || !planned.conflicts().is_empty() {
        planned
            .run()
            .map_err(|error| with_reasons(error, planned))?;
    }
    let steps = planned.steps().iter().filter(|step| !step.is_implied);
    let changes = steps.map(|step| AppliedChange {
        path: Text::from(step.path.clone()),
        kind: match step.action {
            HostAction::Add => ChangeKind::Added,
            HostAction::Change | HostAction::ChangeAttributes => ChangeKind::Changed,
            HostAction::Remove => ChangeKind::Deleted,
        },
    });
    let texts = |paths: &[Vec<u8>]| paths.iter().cloned().map(Text::from).collect();
    Ok(Applied {
        changes: changes.collect(),
        sockets: texts(planned.sockets()),
        left_out: texts(planned.left_out()),
        marked: planned.marked().iter().map(MarkedChange::new).collect(),
    })
}

/// Returns the error with the conflicts, or with the changes that are not accepted, as one of its details.
fn with_reasons(error: ApplyError, planned: &HostChanges<'_>) -> Error {
    let is_conflict = matches!(error, ApplyError::Conflicts { .. });
    let is_unaccepted = matches!(error, ApplyError::Unaccepted { .. });
    let error = Error::from(error);
    if is_unaccepted {
        let marked = planned.marked().iter();
        let unaccepted = marked.filter(|marked| marked.needs_acceptance);
        let unaccepted: Vec<_> = unaccepted.map(MarkedChange::new).collect();
        return error.with_detail("marked", serde_json::json!(unaccepted));
    }
    if !is_conflict {
        return error;
    }
    let conflicts = planned.conflicts().iter();
    let conflicts = conflicts.map(|conflict| {
        let path = planned.host_path(&conflict.path);
        serde_json::json!({
            "path": crate::error::printable(&path.to_string_lossy()),
            "reason": conflict.reason.to_string(),
        })
    });
    error.with_detail("conflicts", conflicts.collect::<Vec<_>>())
}
