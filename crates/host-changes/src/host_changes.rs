use std::path::{Path, PathBuf};
use std::sync::Arc;

use tree_diff::{Compared, Patch, TextChange};

use super::choice::{self, Choice, Choices, Choosing, TEXTS_MAX_BYTES};
use super::host_directory::HostDirectory;
use super::plan::Plan;
use super::write::{self, Written};
use super::{ApplyError, ApplyOptions, Conflict, HostSource, Marked, Refused, Step, check, path};

/// Changes that are about to be put into a directory of the host. No other process can put changes
/// there while this value lives.
#[derive(Debug)]
pub struct HostChanges<S> {
    compared: Arc<Compared<S>>,
    directory: HostDirectory,
    options: ApplyOptions,
    plan: Plan,
    choices: Choices,
}

impl<S: HostSource> HostChanges<S> {
    /// Compares the changes with the files of a directory, and finds what is to be done. Nothing is
    /// written, unless [`ApplyOptions::records`] has an apply to this directory that was killed: it is finished
    /// first.
    ///
    /// # Errors
    /// If the directory cannot be opened or is in use, the sandbox has no directory
    /// [`ApplyOptions::from`], a file cannot be read, or an apply that was killed cannot be finished.
    pub fn plan(
        compared: Arc<Compared<S>>,
        directory: &Path,
        options: ApplyOptions,
    ) -> Result<Self, ApplyError> {
        let directory = HostDirectory::open(directory)?;
        if let Some(records) = &options.records {
            records.finish_locked(&directory)?;
        }
        let options = ApplyOptions {
            from: path::trimmed(&options.from),
            ..options
        };
        let sides = (&compared.old, &compared.new);
        let plan = Plan::new(sides, &compared.changes, &directory, &options)?;
        Ok(Self {
            compared,
            directory,
            options,
            plan,
            choices: Choices::default(),
        })
    }

    /// Returns the steps, in the order of the changes. Files that are as the sandbox has them
    /// already have none.
    pub fn steps(&self) -> &[Step] {
        &self.plan.steps
    }

    /// Returns the files of the host that are in the way, in the order of the changes.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.plan.conflicts
    }

    /// Returns the paths of changed sockets, relative to the directory. They are left out.
    pub fn sockets(&self) -> &[Vec<u8>] {
        &self.plan.sockets
    }

    /// Returns the changes that a user has to know of, in the order of the steps.
    pub fn marked(&self) -> &[Marked] {
        &self.plan.marked
    }

    /// Returns the paths in the sandbox of the repositories of git whose changes are left out.
    pub fn left_out(&self) -> &[Vec<u8>] {
        &self.plan.left_out
    }

    /// Returns the changes that a rule keeps out of the directory, in their order.
    pub fn refused(&self) -> &[Refused] {
        &self.plan.refused
    }

    /// Returns the path of a file on the host.
    pub fn host_path(&self, path: &[u8]) -> PathBuf {
        self.directory.path_of(path)
    }

    /// Returns the indexes of the steps that are chosen one by one. The others follow from them: the removal of
    /// a file with its directory, and a new directory, which is made if a file is put into it.
    pub fn offered(&mut self) -> Vec<usize> {
        self.choosing().offered()
    }

    /// Returns the changed lines of a step. `None` if it is not the change of a text.
    ///
    /// # Errors
    /// If a file of the sandbox cannot be read.
    pub fn text_change(&mut self, step: usize) -> Result<Option<TextChange>, ApplyError> {
        self.choosing().text_change(step)
    }

    /// Returns for each edit of a step's text if the host changed its lines in another way. Such an edit cannot
    /// be made.
    ///
    /// # Errors
    /// If the host's file changed since the plan was made, or cannot be read.
    pub fn overlaps(&mut self, step: usize, text: &TextChange) -> Result<Vec<bool>, ApplyError> {
        self.choosing().overlaps(step, text)
    }

    /// Returns a step in the form of `git diff`.
    ///
    /// # Errors
    /// If a file of the sandbox cannot be read.
    pub fn patch(&mut self, step: usize) -> Result<Patch, ApplyError> {
        self.choosing().patch(step)
    }

    /// Makes a choice. Steps without one are made whole. A step that is chosen counts as accepted.
    pub fn choose(&mut self, step: usize, choice: Choice) {
        self.choices.add(step, choice);
    }

    /// Accepts all changes that need it.
    pub fn accept(&mut self) {
        for marked in &mut self.plan.marked {
            marked.needs_acceptance = false;
        }
    }

    /// Makes the plans those that were chosen. Texts that the host changed, too, are merged; one that cannot be
    /// is a conflict. The indexes of the steps are others then.
    ///
    /// # Errors
    /// If a file cannot be read, a choice does not fit its step, or the chosen texts are too large. The number
    /// is the index of the directory, as in the other errors of several directories.
    pub fn settle_all(all: &mut [Self]) -> Result<(), (usize, ApplyError)> {
        let all = all.iter_mut().map(Self::choosing);
        choice::settle_all(all, TEXTS_MAX_BYTES)
    }

    fn choosing(&mut self) -> Choosing<'_, S> {
        Choosing {
            old: &self.compared.old,
            new: &self.compared.new,
            directory: &self.directory,
            from: &self.options.from,
            plan: &mut self.plan,
            choices: &mut self.choices,
        }
    }

    /// Returns the two sides, and the changes between them.
    pub fn compared(&self) -> &Compared<S> {
        &self.compared
    }

    /// Returns the paths in the sandbox of the changes that the directory has once the changes are put into it,
    /// those that it has already included. Files of which a part was chosen are not among them.
    pub fn settled(&self) -> &[Vec<u8>] {
        &self.plan.settled
    }

    /// Checks that no directory has a conflict.
    ///
    /// # Errors
    /// The conflicts of the first directory that has any.
    pub fn check_conflicts(all: &[Self]) -> Result<(), (usize, ApplyError)> {
        for (index, changes) in all.iter().enumerate() {
            if let Some(first) = changes.plan.conflicts.first() {
                let all = all.iter().map(|changes| changes.plan.conflicts.len());
                let error = ApplyError::Conflicts {
                    path: changes.host_path(&first.path),
                    reason: first.reason.clone(),
                    count: all.sum(),
                };
                return Err((index, error));
            }
        }
        Ok(())
    }

    /// Checks that all changes are accepted.
    fn check_accepted(all: &[Self]) -> Result<(), (usize, ApplyError)> {
        let unaccepted = all.iter().enumerate().flat_map(|(index, changes)| {
            let marked = changes.plan.marked.iter();
            let unaccepted = marked.filter(|marked| marked.needs_acceptance);
            unaccepted.map(move |marked| (index, marked))
        });
        let unaccepted: Vec<(usize, &Marked)> = unaccepted.collect();
        match unaccepted.first() {
            None => Ok(()),
            Some(&(index, first)) => {
                let error = ApplyError::Unaccepted {
                    path: first.sandbox_path.clone(),
                    effect: first.effect.clone(),
                    count: unaccepted.len(),
                };
                Err((index, error))
            }
        }
    }

    /// Puts the changes into their directories: all that were chosen, or none. Each new file is written under
    /// another name before the first of them takes the place of an old one.
    ///
    /// # Errors
    /// If there are conflicts or changes that are not accepted, a directory has no room or cannot be written
    /// to, a file of the host changed since the changes were planned, or a file cannot be read or written; then
    /// nothing was changed. [`ApplyError::Unfinished`] if the disk fails later: the next command that uses the directory
    /// makes the changes that are missing. After another error some changes may have been made.
    /// [`ApplyError::Left`] if the host changed files while new ones took their places: all other changes were made.
    /// The number is the index of the directory.
    pub fn run_all(all: &mut [Self]) -> Result<(), (usize, ApplyError)> {
        Self::settle_all(all)?;
        Self::check_conflicts(all)?;
        Self::check_accepted(all)?;
        for (index, changes) in all.iter().enumerate() {
            let checked = check::check(&changes.directory, &changes.plan);
            checked.map_err(|error| (index, error))?;
        }
        write::run_all(all.iter().map(Self::write))
    }

    /// Writes the new files under other names.
    fn write(&self) -> Result<Written<'_, S>, ApplyError> {
        let sides = (&self.compared.old, &self.compared.new);
        Written::new(sides, &self.directory, &self.options, &self.plan)
    }
}
