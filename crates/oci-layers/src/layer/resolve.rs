use std::collections::VecDeque;

use fstree::{FileKind, InodeId, Name, Tree};

use crate::error::InvalidEntry;
use crate::limits::{Limit, Limits};

/// The end of a path: existing directories, followed by names that do not exist.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The directories on the path, the root first, each with its name.
    passed: Vec<(Option<Name>, InodeId)>,
    /// The names after the last existing directory.
    pub(crate) missing: Vec<Name>,
}

impl ResolvedPath {
    /// Returns the last directory that exists.
    pub(crate) fn directory(&self) -> InodeId {
        self.passed.last().expect("the root is always passed").1
    }

    /// Returns the whole path, free of symlinks, with `last` as its last component.
    pub(crate) fn path_of(&self, last: &Name) -> Vec<u8> {
        let passed = self.passed.iter().filter_map(|(name, _)| name.as_ref());
        let names: Vec<&[u8]> = passed
            .chain(&self.missing)
            .chain([last])
            .map(Name::as_bytes)
            .collect();
        names.join(&b'/')
    }

    fn leave(&mut self) {
        if self.missing.pop().is_none() && self.passed.len() > 1 {
            self.passed.pop();
        }
    }
}

/// Follows directories, and symlinks inside the root as in a `chroot`, as far as the tree goes.
/// Limits bound the time and the depth of the tree.
pub(crate) fn resolve<D>(
    tree: &Tree<D>,
    way: &[Name],
    limits: &Limits,
) -> Result<ResolvedPath, InvalidEntry> {
    let mut place = ResolvedPath {
        passed: vec![(None, tree.root())],
        missing: Vec::new(),
    };
    let mut ahead: VecDeque<Step> = way.iter().cloned().map(Step::Into).collect();
    let (mut steps_taken, mut symlinks) = (0, 0);
    limits.check_length(Limit::EntryDepth, ahead.len())?;
    while let Some(step) = ahead.pop_front() {
        steps_taken += 1;
        let name = match step {
            Step::Into(name) => name,
            Step::Out => {
                place.leave();
                continue;
            }
        };
        let found = if place.missing.is_empty() {
            tree.lookup(place.directory(), name.as_bytes())
        } else {
            None
        };
        let Some(id) = found else {
            place.missing.push(name);
            continue;
        };
        match &tree.inode(id).kind {
            FileKind::Directory(_) => place.passed.push((Some(name), id)),
            FileKind::Symlink(target) => {
                symlinks += 1;
                let checked = limits.check_length(Limit::EntryLinks, symlinks);
                checked.map_err(InvalidEntry::SymlinkLoop)?;
                if target.starts_with(b"/") {
                    place.passed.truncate(1);
                }
                for step in steps(target)?.into_iter().rev() {
                    ahead.push_front(step);
                }
                limits.check_length(Limit::EntryDepth, steps_taken + ahead.len())?;
            }
            _ => return Err(InvalidEntry::ParentNotDirectory),
        }
    }
    Ok(place)
}

enum Step {
    Into(Name),
    Out,
}

fn steps(target: &[u8]) -> Result<Vec<Step>, InvalidEntry> {
    let mut steps = Vec::new();
    for component in target.split(|&byte| byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => steps.push(Step::Out),
            name => steps.push(Step::Into(Name::new(name)?)),
        }
    }
    Ok(steps)
}
