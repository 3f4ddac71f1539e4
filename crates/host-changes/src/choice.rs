//! Changes that are chosen one by one before they are put into a directory of the host.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use fstree::FileKind;
use tree_diff::{Change, ChangeKind, CompareError, Differences, Patch, Patcher, TextChange};

use super::host_directory::{Found, HostDirectory, split};
use super::path::{is_below, relative, trimmed};
use super::plan::Plan;
use super::{ApplyError, Conflict, ConflictReason, HostAction, HostSource, Step};

/// Most bytes of text that chosen parts of the changes of all directories take in memory together.
pub(super) const TEXTS_MAX_BYTES: usize = 256 << 20;

/// A decision about one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The whole change is made.
    Whole,
    /// The file stays as the host has it.
    Nothing,
    /// Some hunks of the text are made, as [`TextChange::hunks`] has them: a value for each, true if it is made.
    Hunks(Vec<bool>),
    /// Some edits of the text are made: a value for each edit of [`HostChanges::text_change`](super::HostChanges::text_change), true if it is made.
    /// The file keeps the permissions that the host gave it unless all are.
    Edits(Vec<bool>),
}

/// The choices that were made, and the change that is being looked at.
#[derive(Debug, Default)]
pub(super) struct Choices {
    made: BTreeMap<usize, Choice>,
    patcher: Patcher,
    /// The change that was last looked at, with its step. The choice is for its edits.
    shown: Option<(usize, TextChange)>,
}

impl Choices {
    /// Remembers a choice.
    pub(super) fn add(&mut self, step: usize, choice: Choice) {
        self.made.insert(step, choice);
    }
}

/// A plan whose steps are chosen.
pub(super) struct Choosing<'a, S> {
    pub(super) old: &'a S,
    pub(super) new: &'a S,
    pub(super) directory: &'a HostDirectory,
    /// Path of the sandbox's directory that the host's directory stands for.
    pub(super) from: &'a [u8],
    pub(super) plan: &'a mut Plan,
    pub(super) choices: &'a mut Choices,
}

/// Makes the plans of several directories those that were chosen. Their texts take at most `texts_max_bytes` together.
/// An error has the index of its directory.
pub(super) fn settle_all<'a, S: HostSource + 'a>(
    all: impl Iterator<Item = Choosing<'a, S>>,
    texts_max_bytes: usize,
) -> Result<(), (usize, ApplyError)> {
    let mut left_bytes = texts_max_bytes;
    for (index, mut choosing) in all.enumerate() {
        let settled = choosing.settle(&mut left_bytes);
        settled.map_err(|error| (index, error))?;
    }
    Ok(())
}

impl<S: HostSource> Choosing<'_, S> {
    /// Returns the indexes of the steps that are chosen one by one.
    pub(super) fn offered(&self) -> Vec<usize> {
        let steps = &self.plan.steps;
        let is_offered = |&index: &usize| {
            let (step, next) = (&steps[index], steps.get(index + 1));
            let has_steps_below = next.is_some_and(|next| is_below(&next.path, &step.path));
            let follows = step.action == HostAction::Add && self.is_directory(step);
            !(step.is_implied || follows && has_steps_below)
        };
        (0..steps.len()).filter(is_offered).collect()
    }

    /// Returns the changed lines of a step; `None` if it is not the change of a text.
    pub(super) fn text_change(&mut self, step: usize) -> Result<Option<TextChange>, ApplyError> {
        let found = self.plan.steps.get(step);
        // A part of the change would undo what the host has already.
        let Some(found) = found.filter(|step| !step.keeps_content) else {
            return Ok(None);
        };
        let (HostAction::Change, Some(old), Some(new)) = (found.action, found.old, found.new)
        else {
            return Ok(None);
        };
        if let Some((_, shown)) = self.choices.shown.as_ref().filter(|(of, _)| *of == step) {
            return Ok(Some(shown.clone()));
        }
        let sides = ((self.old, old), (self.new, new));
        let change = self.choices.patcher.text_change(sides.0, sides.1);
        let change = change.map_err(|source| ApplyError::Read {
            path: found.path.clone(),
            source: io::Error::other(source),
        })?;
        self.choices.shown = change.clone().map(|change| (step, change));
        Ok(change)
    }

    /// Returns for each edit of a step's text if the host changed its lines in another way.
    pub(super) fn overlaps(
        &self,
        step: usize,
        change: &TextChange,
    ) -> Result<Vec<bool>, ApplyError> {
        match self.plan.steps.get(step).filter(|step| step.is_merge) {
            Some(step) => Ok(change.overlaps(&self.host_text(step)?)),
            None => Ok(vec![false; change.len()]),
        }
    }

    /// Returns a step in the form of `git diff`.
    pub(super) fn patch(&mut self, step: usize) -> Result<Patch, ApplyError> {
        let Some(step) = self.plan.steps.get(step) else {
            return Ok(Patch::default());
        };
        let is_of_mode = step.action == HostAction::ChangeAttributes || step.keeps_content;
        let differences = if is_of_mode {
            Differences::MODE
        } else {
            Differences::CONTENT
        };
        let change = Change {
            path: [b"/", &self.sandbox_path(&step.path)[..]].concat(),
            kind: match (step.old, step.new) {
                (None, _) => ChangeKind::Added,
                (_, None) => ChangeKind::Deleted,
                _ => ChangeKind::Changed(differences),
            },
            old: step.old,
            new: step.new,
            hard_link: None,
            renamed_from: None,
            is_implied: false,
        };
        let patch = self.choices.patcher.patch(self.old, self.new, &change);
        patch.map_err(|error| ApplyError::Read {
            path: step.path.clone(),
            source: match error {
                CompareError::Read { source, .. } => io::Error::other(source),
                error @ CompareError::TooManyChanges { .. } => io::Error::other(error.to_string()),
            },
        })
    }

    /// Makes the plan the one that was chosen. Steps without a choice are made whole. Texts are merged with
    /// those of the host; one that cannot be is a conflict. `left_bytes` is the room for texts that no plan took yet.
    pub(super) fn settle(&mut self, left_bytes: &mut usize) -> Result<(), ApplyError> {
        let made = std::mem::take(&mut self.choices.made);
        let mut declined: HashMap<Vec<u8>, bool> = HashMap::new();
        let mut accepted: HashSet<Vec<u8>> = HashSet::new();
        let mut partial: HashSet<Vec<u8>> = HashSet::new();
        for index in 0..self.plan.steps.len() {
            let choice = match made.get(&index) {
                Some(Choice::Hunks(hunks)) => Some(Choice::Edits(self.edits(index, hunks)?)),
                choice => choice.cloned(),
            };
            let step = &self.plan.steps[index];
            let path = step.path.clone();
            let edits = match &choice {
                Some(Choice::Edits(edits) | Choice::Hunks(edits)) => {
                    Some(edits.clone()).filter(|edits| edits.contains(&true))
                }
                Some(Choice::Nothing) => None,
                Some(Choice::Whole) | None => Some(Vec::new()),
            };
            let Some(edits) = edits else {
                declined.insert(path, step.action != HostAction::ChangeAttributes);
                continue;
            };
            if choice.is_some() {
                accepted.insert(path.clone());
            }
            let is_whole = !edits.contains(&false);
            if !is_whole || step.is_merge {
                if !is_whole {
                    partial.insert(path);
                }
                self.settle_text(index, &edits, left_bytes)?;
            }
        }
        if made.is_empty() {
            return Ok(());
        }
        self.leave_out(&declined);
        for marked in &mut self.plan.marked {
            marked.needs_acceptance &= !accepted.contains(&marked.path);
        }
        let partial: HashSet<Vec<u8>> =
            partial.iter().map(|path| self.sandbox_path(path)).collect();
        (self.plan.settled).retain(|path| !partial.contains(&trimmed(path)));
        Ok(())
    }

    /// Returns the choice of edits that a choice of hunks is.
    fn edits(&mut self, index: usize, hunks: &[bool]) -> Result<Vec<bool>, ApplyError> {
        let text = self.text_change(index)?;
        let ranges = text.map(|text| text.hunks()).unwrap_or_default();
        if ranges.len() != hunks.len() {
            return Err(ApplyError::Choice {
                path: self.directory.path_of(&self.plan.steps[index].path),
            });
        }
        let chosen = ranges.into_iter().zip(hunks);
        Ok(chosen
            .flat_map(|(edits, &is_chosen)| edits.map(move |_| is_chosen))
            .collect())
    }

    /// Gives a step the text that the chosen edits make of the host's. No edits stand for all.
    fn settle_text(
        &mut self,
        index: usize,
        edits: &[bool],
        left_bytes: &mut usize,
    ) -> Result<(), ApplyError> {
        let path = self.plan.steps[index].path.clone();
        let misfit = || ApplyError::Choice {
            path: self.directory.path_of(&path),
        };
        let Some(change) = self.text_change(index)? else {
            // One of the sandbox's files is no text, or they differ in attributes only.
            if self.plan.steps[index].is_merge && edits.is_empty() {
                self.cannot_merge(index);
                return Ok(());
            }
            return Err(misfit());
        };
        let is_whole = !edits.contains(&false);
        let all = vec![true; change.len()];
        let edits = if edits.is_empty() { &all[..] } else { edits };
        if edits.len() != change.len() {
            return Err(misfit());
        }
        let step = &self.plan.steps[index];
        let text = if step.is_merge {
            let Ok(text) = change.merge(&self.host_text(step)?, edits) else {
                self.cannot_merge(index);
                return Ok(());
            };
            text
        } else {
            change.apply(edits)
        };
        let left = left_bytes.checked_sub(text.len());
        *left_bytes = left.ok_or(ApplyError::TooMuchText {
            limit_bytes: TEXTS_MAX_BYTES,
        })?;
        let step = &mut self.plan.steps[index];
        step.text = Some(Arc::from(text));
        step.is_merge = false;
        step.hard_link = None;
        step.has_new_attributes &= is_whole;
        Ok(())
    }

    /// Makes a step a conflict, because its file cannot be merged with the host's.
    fn cannot_merge(&mut self, index: usize) {
        let step = &mut self.plan.steps[index];
        step.is_merge = false;
        self.plan.conflicts.push(Conflict {
            path: step.path.clone(),
            reason: ConflictReason::Differs,
        });
    }

    /// Returns the text that the host has at a step.
    fn host_text(&self, step: &Step) -> Result<Vec<u8>, ApplyError> {
        let changed = || ApplyError::Changed {
            path: self.directory.path_of(&step.path),
        };
        match self.directory.find(&step.path)? {
            Found::Present(host) if Some(host.state()) == step.host => {
                let text = self.directory.text(&step.path, &host)?;
                text.ok_or_else(changed)
            }
            _ => Err(changed()),
        }
    }

    /// Takes the declined steps out, and what follows from them. `declined` has their paths, with true if the
    /// steps below them are declined, too.
    fn leave_out(&mut self, declined: &HashMap<Vec<u8>, bool>) {
        let is_declined = |path: &[u8]| {
            let mut above = split(path).0;
            while !above.is_empty() {
                if declined.get(above).is_some_and(|with_all| *with_all) {
                    return true;
                }
                above = split(above).0;
            }
            declined.contains_key(path)
        };
        let mut kept: Vec<Step> = Vec::new();
        let mut empty: HashSet<Vec<u8>> = HashSet::new();
        let steps = std::mem::take(&mut self.plan.steps);
        let mut followed: Vec<bool> = steps.iter().map(|_| false).collect();
        for (index, next) in steps.iter().enumerate().skip(1) {
            followed[index - 1] = is_below(&next.path, &steps[index - 1].path);
        }
        // Of two steps the one further below comes first, so a directory knows if something is put into it.
        for (step, is_followed) in steps.into_iter().zip(followed).rev() {
            let is_container = step.action == HostAction::Add && self.is_directory(&step);
            let is_used = || {
                kept.last()
                    .is_some_and(|last| is_below(&last.path, &step.path))
            };
            if is_declined(&step.path) {
                continue;
            }
            if is_container && is_followed && !is_used() {
                empty.insert(step.path);
                continue;
            }
            kept.push(step);
        }
        kept.reverse();
        let paths: HashSet<&[u8]> = kept.iter().map(|step| &step.path[..]).collect();
        self.plan
            .marked
            .retain(|marked| paths.contains(&marked.path[..]));
        let from = self.from;
        self.plan.settled.retain(|path| {
            let path = relative(path, from).unwrap_or_default();
            !is_declined(path) && !empty.contains(path)
        });
        self.plan.steps = kept;
    }

    /// Returns the path in the sandbox of a path of the directory, without a leading slash.
    fn sandbox_path(&self, path: &[u8]) -> Vec<u8> {
        trimmed(&[self.from, b"/", path].concat())
    }

    fn is_directory(&self, step: &Step) -> bool {
        let kind = step.new.map(|id| &self.new.tree().inode(id).kind);
        matches!(kind, Some(FileKind::Directory(_)))
    }
}
