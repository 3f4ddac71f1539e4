use path_rules::Rules;
use tree_diff::{Change, PathFilter};

use super::{ApplyError, ApplyRecords, marked, path};

/// The rules of a staged directory.
#[derive(Debug, Clone)]
pub struct StagedRules {
    /// The directory's path in the sandbox, which the paths of the rules are relative to.
    pub target: Vec<u8>,
    /// The rules.
    pub rules: Rules,
}

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
    /// True if the changes are chosen one by one, so that texts which the host changed, too, can be merged.
    pub merges: bool,
    /// The rules of the staged directory that the files are in; `None` if every file may leave the sandbox.
    pub rules: Option<StagedRules>,
    /// The records by which an apply that is killed between two files is finished; `None` if it is not.
    pub records: Option<ApplyRecords>,
}

impl ApplyOptions {
    /// Returns true if a change is in a repository of git that the user did not name.
    pub(super) fn leaves_out(&self, change: &Change, is_directory: bool) -> bool {
        path_rules::repository(&change.path).is_some()
            && !marked::is_named(&change.path, &self.chosen)
            && !marked::is_named(&change.path, std::slice::from_ref(&self.from))
            && !(self.filter).includes_by(&change.path, is_directory, path_rules::is_git)
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
