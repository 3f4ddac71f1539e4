//! Changes that are about to be put into directories of the host, and are chosen one by one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use msb_cancellation::Effect;
use msb_client::blocking;
use msb_sandbox_files::{Choice, ClaimedSandbox, DiscardOptions, HostChanges};
use msb_sandbox_handle::Handle;
use serde::{Deserialize, Serialize};

use super::reasons::with_reasons;
use super::{AppliedDirectory, applied, change_kind};
use crate::{ApplyOptions, ChangeKind, Error, Operation, Patch, Text};

/// Changes that are about to be put into directories of the host. They are those of the moment at which the plan
/// was made, whatever a running sandbox writes since. A stopped sandbox cannot be started, and no other process
/// can apply changes to the directories, while this value lives.
#[derive(Debug, Clone)]
pub struct ApplyPlan {
    pub(super) handle: Arc<Handle>,
    pub(super) planned: Arc<Mutex<Option<Planned>>>,
}

/// The plans of all directories.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) options: ApplyOptions,
    /// The path in the sandbox and the directory of the host of each.
    pub(super) directories: Vec<(String, PathBuf)>,
    pub(super) changes: Vec<HostChanges>,
    /// The directory and the step of each change that is offered.
    pub(super) offered: Vec<(usize, usize)>,
}

/// A change of a plan, which is made or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedChange {
    /// The index in the plan.
    pub index: usize,
    /// The directory of the host.
    pub directory: PathBuf,
    /// The path in the directory, without a leading slash.
    pub path: Text,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The effect of the change beyond its file, as a clause; `None` if it has none.
    pub effect: Option<String>,
    /// True if the change is made only once it is chosen, or its path is accepted ([`ApplyOptions::accept`]).
    pub needs_acceptance: bool,
}

/// A hunk of a change of text, as `git diff` has it: one edit, or several that share their context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextHunk {
    /// The text, from the line `@@` on.
    pub text: Bytes,
    /// True if the host changed the lines of one of its edits in another way, so that it cannot be made.
    pub overlaps: bool,
    /// The edits, each as a hunk, if there are several.
    pub edits: Vec<Self>,
}

/// A decision about a change of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApplyChoice {
    /// The whole change is made.
    Yes,
    /// The file stays as the host has it.
    No,
    /// Some hunks of the text are made: a value for each, true if it is made.
    Hunks(Vec<bool>),
    /// Some edits of the hunks are made: a value for each edit of all hunks.
    Edits(Vec<bool>),
}

impl ApplyPlan {
    /// Returns the changes of each directory as they will be made, in the order of the mounts.
    pub fn directories(&self) -> Vec<AppliedDirectory> {
        self.with(|planned| Ok(planned.directories()))
            .unwrap_or_default()
    }

    /// Returns the changes that are decided one by one. What follows from them is not among them, such as the
    /// removal of the files of a removed directory.
    pub fn changes(&self) -> Vec<PlannedChange> {
        self.with(|planned| Ok(planned.offered()))
            .unwrap_or_default()
    }

    /// Returns the change with this index in the form of `git diff`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are fewer changes, or the plan was run;
    /// otherwise if the content of the file cannot be read.
    pub fn patch(&self, index: usize) -> Operation<Patch> {
        self.reading(index, |changes, step| Ok(changes.patch(step)?.into()))
    }

    /// Returns the hunks of the change with this index; none if it is not the change of a text.
    ///
    /// # Errors
    /// As [`ApplyPlan::patch`], and [`Busy`](crate::ErrorKind::Busy) if the host's file changed since the plan
    /// was made.
    pub fn hunks(&self, index: usize) -> Operation<Vec<TextHunk>> {
        self.reading(index, |changes, step| {
            let Some(text) = changes.text_change(step)? else {
                return Ok(Vec::new());
            };
            let overlaps = changes.overlaps(step, &text)?;
            let hunk = |edits: std::ops::Range<usize>| {
                let is_chosen: Vec<bool> = (0..text.len()).map(|at| edits.contains(&at)).collect();
                TextHunk {
                    text: text.patch(&is_chosen).into(),
                    overlaps: overlaps[edits].contains(&true),
                    edits: Vec::new(),
                }
            };
            let hunks = text.hunks().into_iter().map(|range| TextHunk {
                edits: match range.len() {
                    1 => Vec::new(),
                    _ => range.clone().map(|edit| hunk(edit..edit + 1)).collect(),
                },
                ..hunk(range)
            });
            Ok(hunks.collect())
        })
    }

    /// Decides about the change with this index. Changes without a decision are made. A change that is made by
    /// one counts as accepted.
    pub fn choose(&self, index: usize, choice: ApplyChoice) {
        let _ = self.with(|planned| {
            if let Some(&(directory, step)) = planned.offered.get(index) {
                let choice = match choice {
                    ApplyChoice::Yes => Choice::Whole,
                    ApplyChoice::No => Choice::Nothing,
                    ApplyChoice::Hunks(hunks) => Choice::Hunks(hunks),
                    ApplyChoice::Edits(edits) => Choice::Edits(edits),
                };
                planned.changes[directory].choose(step, choice);
            }
            Ok(())
        });
    }

    /// Checks that no file of the host is in the way of the changes. Texts that are merged are not looked at yet.
    ///
    /// # Errors
    /// [`PathExists`](crate::ErrorKind::PathExists) with the detail `conflicts`.
    pub fn check(&self) -> Result<(), Error> {
        self.with(|planned| {
            HostChanges::check_conflicts(&planned.changes)
                .map_err(|error| with_reasons(error, &planned.changes))
        })
    }

    /// Accepts all changes that need it.
    pub fn accept(&self) {
        let _ = self.with(|planned| {
            planned.changes.iter_mut().for_each(HostChanges::accept);
            Ok(())
        });
    }

    /// Puts the chosen changes into their directories: all, or none if one of them cannot be made. With
    /// [`ApplyOptions::dry_run`] nothing is written. A plan is run once.
    ///
    /// # Errors
    /// As [`Sandbox::apply`](crate::Sandbox::apply).
    pub fn run(&self) -> Operation<Vec<AppliedDirectory>> {
        let this = self.clone();
        let discards = self.with(|planned| Ok(planned.options.then_discard));
        let effect = match discards {
            Ok(true) => Effect::Guest,
            _ => Effect::Slight,
        };
        self.handle.change(effect, move |handle| async move {
            let stored = handle.stored();
            let running = handle.shared().with_home(move |shared| {
                let planned = this.lock().take().ok_or_else(was_run)?;
                let options = planned.options.clone();
                // The sandbox stays as it was read until its changes are discarded.
                let claimed = match planned.changes.first() {
                    Some(first) if options.then_discard && !options.dry_run => {
                        Some(ClaimedSandbox::of_changes(first, &stored)?)
                    }
                    _ => None,
                };
                let (done, settled) = planned.run()?;
                let Some(claimed) = claimed.filter(|_| !settled.is_empty()) else {
                    return Ok(done);
                };
                let (_, scope) = options.apply()?;
                let discarded = DiscardOptions {
                    scope,
                    chosen: Some(settled.into_iter().collect()),
                    ..DiscardOptions::default()
                };
                claimed.discard(shared.home(), discarded)?;
                Ok::<_, Error>(done)
            });
            running.await
        })
    }

    /// Runs work that reads files on a thread that may block.
    fn reading<T: Send + 'static>(
        &self,
        index: usize,
        read: impl FnOnce(&mut HostChanges, usize) -> Result<T, Error> + Send + 'static,
    ) -> Operation<T> {
        let this = self.clone();
        Operation::new(blocking(move || {
            this.with(|planned| {
                let offered = planned.offered.get(index).copied();
                let missing = || Error::invalid("the plan has no such change");
                let (directory, step) = offered.ok_or_else(missing)?;
                read(&mut planned.changes[directory], step)
            })
        }))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Planned) -> Result<T, Error>) -> Result<T, Error> {
        self.lock().as_mut().ok_or_else(was_run).and_then(work)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn was_run() -> Error {
    Error::invalid("the plan was run already")
}

impl Planned {
    fn directories(&self) -> Vec<AppliedDirectory> {
        let all = self.directories.iter().zip(&self.changes);
        let all = all.map(|((target, directory), changes)| AppliedDirectory {
            target: target.clone(),
            directory: directory.clone(),
            applied: applied(changes),
        });
        all.collect()
    }

    fn offered(&self) -> Vec<PlannedChange> {
        let offered = self.offered.iter().enumerate();
        let change = |(index, &(directory, step)): (usize, &(usize, usize))| {
            let changes = &self.changes[directory];
            let step = &changes.steps()[step];
            let marked = changes
                .marked()
                .iter()
                .find(|marked| marked.path == step.path);
            PlannedChange {
                index,
                directory: self.directories[directory].1.clone(),
                path: step.path.clone().into(),
                kind: change_kind(step.action),
                effect: marked.map(|marked| marked.effect.to_string()),
                needs_acceptance: marked.is_some_and(|marked| marked.needs_acceptance),
            }
        };
        offered.map(change).collect()
    }

    /// Makes the changes. Returns them, and the paths in the sandbox of those that the host has now.
    fn run(mut self) -> Result<(Vec<AppliedDirectory>, Vec<Vec<u8>>), Error> {
        HostChanges::settle_all(&mut self.changes)
            .map_err(|error| with_reasons(error, &self.changes))?;
        let done = self.directories();
        let made = if self.options.dry_run {
            HostChanges::check_conflicts(&self.changes)
        } else {
            HostChanges::run_all(&mut self.changes)
        };
        made.map_err(|error| with_reasons(error, &self.changes))?;
        let settled = self.changes.iter().flat_map(|changes| changes.settled());
        let settled = settled.cloned().collect();
        Ok((done, settled))
    }
}
