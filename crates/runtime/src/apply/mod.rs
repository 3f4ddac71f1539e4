//! Changes of a stopped sandbox, put into a directory of the host.
//!
//! A [`HostChanges`] is planned first: each change is compared with the host's file, and nothing is
//! written if one of them conflicts. Then each file is written under another name, synced and
//! renamed, so that a process that is killed leaves each file old or new, and the next plan has the
//! rest.

mod attributes;
mod check;
mod comparison;
mod conflict;
mod error;
mod host_directory;
mod marked;
mod path;
mod plan;
mod step;
#[cfg(test)]
mod tests;
mod unfinished;
mod write;

use std::path::{Path, PathBuf};

pub use conflict::{Conflict, ConflictReason};
pub use error::ApplyError;
use host_directory::HostDirectory;
pub use marked::{Effect, Marked};
use plan::Plan;
pub use step::{HostAction, Step};

use tree_diff::{Change, PathFilter};

use crate::Diff;

/// A side whose files are put into a directory of the host.
trait HostSource: tree_diff::Side<Error: Send + Sync> {}

impl<S: tree_diff::Side<Error: Send + Sync>> HostSource for S {}

/// Options for changes that are put into a directory of the host.
#[derive(Debug, Clone, Default)]
pub struct ApplyOptions {
    /// The sandbox's directory that the host's directory stands for; empty for the root. Changes
    /// outside of it are left out.
    pub from: Vec<u8>,
    /// True if owners, setuid and setgid bits, and file capabilities are applied too, which takes
    /// root.
    pub keep_owner: bool,
    /// The chosen paths in the sandbox. A repository of git is left out unless one of them leads into it, or
    /// an include of the filter does.
    pub chosen: Vec<Vec<u8>>,
    /// The patterns that the changes were chosen by.
    pub filter: PathFilter,
    /// Paths in the sandbox at and below which changes are applied that make programs of the host run
    /// commands.
    pub accepted: Vec<Vec<u8>>,
}

impl ApplyOptions {
    /// Returns true if a change is in a repository of git that the user did not name.
    fn leaves_out(&self, change: &Change, is_directory: bool) -> bool {
        marked::repository(&change.path).is_some()
            && !marked::is_named(&change.path, &self.chosen)
            && !marked::is_named(&change.path, std::slice::from_ref(&self.from))
            && !(self.filter).includes_by(&change.path, is_directory, marked::is_git)
    }

    /// Returns the paths that a comparison is limited to: those that were chosen, or all below
    /// [`ApplyOptions::from`].
    ///
    /// # Errors
    /// If a chosen path is outside of it.
    pub fn scope(&self, chosen: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, ApplyError> {
        let from = path::trimmed(&self.from);
        let is_outside = |path: &&Vec<u8>| path::relative(&path::trimmed(path), &from).is_none();
        if let Some(path) = chosen.iter().find(is_outside) {
            return Err(ApplyError::Outside {
                path: path.clone(),
                from: self.from.clone(),
            });
        }
        match chosen {
            [] if from.is_empty() => Ok(Vec::new()),
            [] => Ok(vec![self.from.clone()]),
            chosen => Ok(chosen.to_vec()),
        }
    }
}

/// Changes that are about to be put into a directory of the host. No other process can put changes
/// there while this value lives.
#[derive(Debug)]
pub struct HostChanges<'a> {
    diff: &'a Diff,
    directory: HostDirectory,
    options: ApplyOptions,
    plan: Plan,
}

impl<'a> HostChanges<'a> {
    /// Compares the changes with the files of a directory, and finds what is to be done. Nothing is
    /// written.
    ///
    /// # Errors
    /// If the directory cannot be opened or is in use, the sandbox has no directory
    /// [`ApplyOptions::from`], or a file cannot be read.
    pub fn plan(
        diff: &'a Diff,
        directory: &Path,
        options: ApplyOptions,
    ) -> Result<Self, ApplyError> {
        let directory = HostDirectory::open(directory)?;
        let plan = Plan::new(diff.sides(), diff.changes(), &directory, &options)?;
        Ok(Self {
            diff,
            directory,
            options,
            plan,
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

    /// Returns the path of a file on the host.
    pub fn host_path(&self, path: &[u8]) -> PathBuf {
        self.directory.path_of(path)
    }

    /// Puts the changes into the directory.
    ///
    /// # Errors
    /// If there are conflicts or changes that are not accepted, the directory has no room or cannot be written to, before anything
    /// is written; and if the host fails later.
    pub fn run(&self) -> Result<(), ApplyError> {
        if let Some(first) = self.plan.conflicts.first() {
            return Err(ApplyError::Conflicts {
                path: self.host_path(&first.path),
                reason: first.reason.clone(),
                count: self.plan.conflicts.len(),
            });
        }
        let unaccepted = || {
            self.plan
                .marked
                .iter()
                .filter(|marked| marked.needs_acceptance)
        };
        if let Some(first) = unaccepted().next() {
            return Err(ApplyError::Unaccepted {
                path: first.sandbox_path.clone(),
                effect: first.effect.clone(),
                count: unaccepted().count(),
            });
        }
        write::run(
            self.diff.sides(),
            &self.directory,
            &self.options,
            &self.plan,
        )
    }
}
