use std::path::{Path, PathBuf};

use fs_err as fs;
use path_rules::{Rule, Rules, TooManyRules};
use serde::{Deserialize, Serialize};

use super::{Mount, MountError, Source, Target, host};

/// A directory of the host that is staged: the sandbox has its files as they were when it was created, and
/// its changes stay in the sandbox until they are applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// The directory's path, without symlinks once it is recorded; `None` if it is on another host, where a
    /// snapshot of the sandbox was exported.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// The rules of its files; their paths are relative to the directory.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// True if the default rules count, too.
    #[serde(default)]
    pub default_rules: bool,
}

impl Staged {
    /// Returns the directory of the host, which is read or written again. Its path still leads to a directory, and
    /// through no symlink.
    ///
    /// # Errors
    /// If it is on another host, or its path is gone, leads elsewhere or to another kind of file, or cannot be read.
    pub fn source(&self, target: &Target) -> Result<&Path, MountError> {
        let elsewhere = || MountError::StagedElsewhere {
            target: target.clone(),
        };
        let directory = self.directory.as_deref().ok_or_else(elsewhere)?;
        host::check(directory, true, target)?;
        Ok(directory)
    }

    /// Returns all rules.
    ///
    /// # Errors
    /// If there are too many.
    pub fn all_rules(&self) -> Result<Rules, TooManyRules> {
        let mut rules = if self.default_rules {
            Rules::with_defaults()
        } else {
            Rules::new()
        };
        for rule in &self.rules {
            rules.push(rule.clone())?;
        }
        Ok(rules)
    }
}

/// Returns the staged directories among mounts, in the order of their numbers.
pub fn staged(mounts: &[Mount]) -> impl Iterator<Item = (&Mount, &Staged)> {
    mounts.iter().filter_map(|mount| match &mount.source {
        Source::Staged(staged) => Some((mount, staged)),
        _ => None,
    })
}

/// Returns the paths in the sandbox of the staged directories, in the order of their numbers.
pub fn targets(mounts: &[Mount]) -> Vec<Vec<u8>> {
    let targets = staged(mounts).map(|(mount, _)| mount.target.as_str().as_bytes().to_vec());
    targets.collect()
}

/// Returns a directory's path without symlinks.
pub(super) fn recorded(directory: &Path) -> Result<PathBuf, MountError> {
    let failed = |source| MountError::Host {
        path: directory.to_owned(),
        source,
    };
    let path = fs::canonicalize(directory).map_err(failed)?;
    if path.to_str().is_none() {
        return Err(MountError::HostName { path });
    }
    if fs::metadata(&path).map_err(failed)?.is_dir() {
        Ok(path)
    } else {
        Err(MountError::NotStaged { path })
    }
}

/// Checks that no staged directory lies in another one, neither on the host nor in the sandbox.
pub(super) fn check_apart(mounts: &[Mount]) -> Result<(), MountError> {
    let all: Vec<(&Target, Option<&Path>)> = staged(mounts)
        .map(|(mount, staged)| (&mount.target, staged.directory.as_deref()))
        .collect();
    for (index, (target, directory)) in all.iter().enumerate() {
        for (position, (other, above)) in all.iter().enumerate() {
            if index == position {
                continue;
            }
            let is_below = other.covers(target.as_str().as_bytes());
            let hosts = directory.zip(*above);
            if is_below || hosts.is_some_and(|(one, above)| one.starts_with(above)) {
                return Err(MountError::StagedTwice {
                    target: (*target).clone(),
                    other: (*other).clone(),
                });
            }
        }
    }
    Ok(())
}
