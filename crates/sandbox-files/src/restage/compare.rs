use std::cmp::Ordering;
use std::collections::HashSet;

use fstree::Tree;
use tree_diff::{Change, ChangeKind, Differences, Side as _};

use crate::diff::{DiskSide, changes};
use crate::{ChangeScope, DiffError};

/// Maximum number of conflicts that are named.
const CONFLICTS_MAX: usize = 1000;

/// The sandbox's changes over a new image of the host's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rebased {
    /// The changes that the sandbox sees: those between its files and the new ones where it keeps nothing.
    pub(crate) seen: Vec<Change>,
    /// The paths at which the sandbox's file stays. The paths of names that it removed are among them.
    pub(crate) kept: HashSet<Vec<u8>>,
    /// The paths that both sides changed in different ways, in bytewise order.
    pub(crate) conflicts: Vec<Vec<u8>>,
}

/// The changes between each two of three trees.
struct Changes {
    /// The changes that the sandbox made: from the old image to its files.
    own: Vec<Change>,
    /// The changes that the host made: from the old image to the new one.
    host: Vec<Change>,
    /// The differences between the sandbox's files and the new image.
    between: Vec<Change>,
}

/// Decides for each path between the sandbox's file and the host's new one: three trees are compared, the old
/// image below `now`, the sandbox's files in `now`, and the new image.
pub(crate) fn rebase(now: &DiskSide, new: &DiskSide) -> Result<Rebased, DiffError> {
    let everything = ChangeScope::default();
    let old = now.image_below();
    let found = Changes {
        own: changes(&old, now, &everything)?,
        host: changes(&old, new, &everything)?,
        between: changes(now, new, &everything)?,
    };
    Ok(decide(found, now.tree(), new.tree()))
}

fn decide<N, H>(found: Changes, now: &Tree<N>, new: &Tree<H>) -> Rebased {
    let Changes { own, host, between } = found;
    let matters = |changes: &[Change]| -> HashSet<Vec<u8>> {
        let changes = changes.iter().filter(|change| is_of_content(change));
        changes.map(|change| change.path.clone()).collect()
    };
    let (differs, by_host) = (matters(&between), matters(&host));
    let touched: HashSet<&[u8]> = host.iter().map(|change| &change.path[..]).collect();
    let (gone, hidden) = (Blockers::new(&host, new), Blockers::new(&own, now));
    let mut kept = HashSet::new();
    let mut conflicts = Vec::new();
    for change in &own {
        let is_placeless = change.new.is_some() && gone.is_below(&change.path);
        if !touched.contains(&change.path[..]) && !is_placeless {
            kept.insert(change.path.clone());
        } else if !differs.contains(&change.path) {
            // What both sides did is no difference any more.
        } else if by_host.contains(&change.path) || is_placeless {
            conflicts.push(change.path.clone());
        } else {
            kept.insert(change.path.clone());
        }
    }
    let is_hidden = |change: &&Change| {
        let is_there = change.new.is_some() && differs.contains(&change.path);
        is_there && hidden.is_below(&change.path)
    };
    conflicts.extend(
        host.iter()
            .filter(is_hidden)
            .map(|change| change.path.clone()),
    );
    conflicts.sort_unstable();
    conflicts.dedup();
    conflicts.truncate(CONFLICTS_MAX);
    let mut seen = between;
    seen.retain(|change| !change.is_implied && !kept.contains(&change.path));
    Rebased {
        seen,
        kept,
        conflicts,
    }
}

/// Returns true if a change is one that `msb apply` would compare: not of owners, times and attributes alone.
fn is_of_content(change: &Change) -> bool {
    let beside = Differences::OWNER | Differences::MTIME | Differences::XATTRS | Differences::LINKS;
    match change.kind {
        ChangeKind::Changed(found) => !beside.contains(found),
        _ => true,
    }
}

/// The changed paths at which a side has no directory any more, those below others left out.
struct Blockers(Vec<Vec<u8>>);

impl Blockers {
    fn new<D>(changes: &[Change], side: &Tree<D>) -> Self {
        let was_directory = |change: &&Change| {
            change.old.is_some() && change.new.is_none_or(|id| side.directory(id).is_none())
        };
        let paths = changes.iter().filter(was_directory);
        let mut paths: Vec<Vec<u8>> = paths.map(|change| change.path.clone()).collect();
        paths.sort_unstable_by(|one, other| by_names(one, other));
        paths.dedup_by(|path, above| is_strictly_below(path, above));
        Self(paths)
    }

    /// Returns true if a path is below one of them. It takes the time of a search, however deep the path is.
    fn is_below(&self, path: &[u8]) -> bool {
        let next = self
            .0
            .partition_point(|blocker| by_names(blocker, path).is_lt());
        let before = next.checked_sub(1).and_then(|index| self.0.get(index));
        before.is_some_and(|blocker| is_strictly_below(path, blocker))
    }
}

/// Compares paths so that what is in a directory follows it at once.
fn by_names(one: &[u8], other: &[u8]) -> Ordering {
    let rank = |byte: &u8| {
        if *byte == b'/' {
            0
        } else {
            u16::from(*byte) + 1
        }
    };
    one.iter().map(rank).cmp(other.iter().map(rank))
}

fn is_strictly_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests;
