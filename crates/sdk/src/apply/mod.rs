//! Changes of a sandbox, put into a directory of the host.

mod options;
mod plan;
mod reasons;
mod staged;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use msb_cancellation::Effect;
use msb_runtime::Home;
use msb_sandbox_files::{
    ApplyRecords, AtRestError, Diff as DiskDiff, DiffSide, HostAction, HostChanges, Marked,
    Refused, StagedRules,
};
use serde::Serialize;

pub use options::ApplyOptions;
use plan::Planned;
pub use plan::{ApplyChoice, ApplyPlan, PlannedChange, TextHunk};
pub use staged::AppliedDirectory;

use crate::diff::find;
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
    /// The changes that a rule of a staged directory keeps back.
    pub refused: Vec<RefusedChange>,
}

/// A change that a rule keeps out of the host's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedChange {
    /// The path in the directory of the host, without a leading slash.
    pub path: Text,
    /// The path in the sandbox, with a leading slash.
    pub sandbox_path: Text,
    /// The state of the path: `read-only`, `deny` or `hide`.
    pub state: String,
    /// The rule, `PATH=STATE`, or the program of the host that would run commands of the file.
    pub rule: String,
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
    /// frozen and cut, as by [`Sandbox::diff`].
    ///
    /// If a file of the host is neither what the sandbox began with nor what it has now, nothing is
    /// changed. A process that is killed leaves each file old or new; the next call does the rest. A file that
    /// an editor writes while new files take their places is left.
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
    /// the detail `conflicts` lists them with their reasons, [`Busy`](crate::ErrorKind::Busy) if files were left:
    /// the detail `left` lists them, and all other changes were made. For a running sandbox also the errors of
    /// [`Sandbox::diff`].
    pub fn apply(
        &self,
        directory: impl Into<PathBuf>,
        options: ApplyOptions,
    ) -> Operation<Applied> {
        let planning = self.plan_apply(Some(directory.into()), options);
        Operation::new(async move {
            let applied = planning.await?.run().await?;
            Ok(applied.into_iter().next().unwrap_or_default().applied)
        })
    }

    /// Finds the changes of the sandbox that [`Sandbox::apply`] puts into a directory of the host, or, without
    /// one, [`Sandbox::apply_staged`] into the directories of the staged ones, so that each of them can be looked
    /// at and chosen. With [`ApplyOptions::merges`], texts that the host changed, too, are merged.
    ///
    /// ```no_run
    /// use msb_sdk::{ApplyChoice, ApplyOptions};
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let plan = sandbox.plan_apply(None, ApplyOptions::default()).await?;
    /// for change in plan.changes() {
    ///     if !change.path.as_bytes().ends_with(b".rs") {
    ///         plan.choose(change.index, ApplyChoice::No);
    ///     }
    /// }
    /// plan.run().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Sandbox::apply`] and [`Sandbox::apply_staged`], but conflicts and changes that are not accepted are
    /// errors of [`ApplyPlan::run`].
    pub fn plan_apply(
        &self,
        directory: Option<PathBuf>,
        options: ApplyOptions,
    ) -> Operation<ApplyPlan> {
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                options.check_discard()?;
                let stored = handle.stored();
                let (targets, scope) = match &directory {
                    Some(directory) => {
                        staged::check_directory(&stored, directory, &options)?;
                        let (apply, scope) = options.apply()?;
                        let rules = staged::rules_at(&stored, &apply.from)?;
                        if rules.is_none() {
                            stored.check_has_overlay().map_err(AtRestError::from)?;
                        }
                        let target = Target {
                            path: String::from_utf8_lossy(&apply.from).into_owned(),
                            from: apply.from,
                            directory: directory.clone(),
                            rules,
                        };
                        (vec![target], scope)
                    }
                    None => staged::targets(&stored, &options)?,
                };
                let pause = options.pause && !options.then_discard;
                let base = match options.base.clone() {
                    Some(base) => {
                        let finding = handle.shared().with_home(move |shared| find(shared, &base));
                        Some(finding.await?.side(handle.shared(), pause).await?)
                    }
                    None => None,
                };
                let snapshot = options.snapshot.clone();
                let at_rest = handle
                    .shared()
                    .at_rest_or_snapshot(&stored, snapshot, pause);
                let new = at_rest.await?;
                let planning = handle.shared().with_home(move |shared| {
                    let home = shared.home();
                    let diff = match base {
                        Some(old) => {
                            DiskDiff::between(home, old, DiffSide::Sandbox(Box::new(new)), &scope)?
                        }
                        None => DiskDiff::of_sandbox(home, new, &scope)?,
                    };
                    plan(home, &diff, targets, options)
                });
                let planned = Arc::new(Mutex::new(Some(planning.await?)));
                Ok(ApplyPlan { handle, planned })
            })
    }
}

/// A directory of the host that changes are put into.
struct Target {
    /// The path in the sandbox, as it is shown.
    path: String,
    /// The sandbox's directory that it stands for.
    from: Vec<u8>,
    directory: PathBuf,
    rules: Option<StagedRules>,
}

fn plan(
    home: &Home,
    diff: &DiskDiff,
    targets: Vec<Target>,
    options: ApplyOptions,
) -> Result<Planned, Error> {
    let (mut directories, mut all, mut offered) = (Vec::new(), Vec::new(), Vec::new());
    for target in targets {
        let (mut apply, _) = options.apply()?;
        (apply.from, apply.rules) = (target.from, target.rules);
        apply.records = (!options.dry_run).then(|| ApplyRecords::of_home(home.root()));
        let mut changes = diff.plan_apply(&target.directory, apply)?;
        let steps = changes.offered().into_iter();
        offered.extend(steps.map(|step| (all.len(), step)));
        directories.push((target.path, target.directory));
        all.push(changes);
    }
    Ok(Planned {
        options,
        directories,
        changes: all,
        offered,
    })
}

const fn change_kind(action: HostAction) -> ChangeKind {
    match action {
        HostAction::Add => ChangeKind::Added,
        HostAction::Change | HostAction::ChangeAttributes => ChangeKind::Changed,
        HostAction::Remove => ChangeKind::Deleted,
    }
}

/// Returns the changes of a plan.
fn applied(planned: &HostChanges) -> Applied {
    let steps = planned.steps().iter().filter(|step| !step.is_implied);
    let changes = steps.map(|step| AppliedChange {
        path: Text::from(step.path.clone()),
        kind: change_kind(step.action),
    });
    let texts = |paths: &[Vec<u8>]| paths.iter().cloned().map(Text::from).collect();
    Applied {
        changes: changes.collect(),
        sockets: texts(planned.sockets()),
        left_out: texts(planned.left_out()),
        marked: planned.marked().iter().map(MarkedChange::new).collect(),
        refused: planned.refused().iter().map(RefusedChange::new).collect(),
    }
}

impl RefusedChange {
    fn new(refused: &Refused) -> Self {
        Self {
            path: refused.path.clone().into(),
            sandbox_path: refused.sandbox_path.clone().into(),
            state: refused.state.to_string(),
            rule: refused.rule.clone(),
        }
    }
}
