use std::collections::HashMap;

use fstree::{InodeId, Name, Tree};

use crate::budget::Budget;
use crate::error::CompareError;
use crate::{Change, ChangeKind, Relation};

/// Fills in the old paths of the moved files among the changes.
pub(crate) fn find<O, N, E>(
    (old, new): (&Tree<O>, &Tree<N>),
    relation: &impl Relation<O, N>,
    changes: &mut [Change],
    budget: &mut Budget,
) -> Result<(), CompareError<E>> {
    let origin = |change: &Change| match change.kind {
        ChangeKind::Added => relation.origin(change.new?),
        ChangeKind::Changed(_) | ChangeKind::Deleted => None,
    };
    if !changes.iter().any(|change| origin(change).is_some()) {
        return Ok(());
    }
    let (old_names, new_names) = (FirstNames::new(old), FirstNames::new(new));
    for change in changes {
        let (Some(old_id), Some(new_id)) = (origin(change), change.new) else {
            continue;
        };
        let (Some((old_parent, old_name)), Some((parent, name))) =
            (old_names.get(old_id), new_names.get(new_id))
        else {
            continue;
        };
        // Below a moved directory everything has moved.
        if name == old_name && relation.origin(parent) == Some(old_parent) && parent != new.root() {
            continue;
        }
        let path = old_names.path(old_id);
        if new.find(&path) != Some(new_id) {
            budget.take(path.len())?;
            change.renamed_from = Some(path);
        }
    }
    Ok(())
}

/// A name of each inode of a tree, with its directory.
struct FirstNames<'a>(HashMap<InodeId, (InodeId, &'a Name)>);

impl<'a> FirstNames<'a> {
    fn new<D>(tree: &'a Tree<D>) -> Self {
        let mut names = HashMap::new();
        for link in tree.links() {
            names.entry(link.id).or_insert((link.parent, link.name));
        }
        Self(names)
    }

    /// Returns the name and its directory. `None` for the root, and for what cannot be reached.
    fn get(&self, id: InodeId) -> Option<(InodeId, &'a Name)> {
        self.0.get(&id).copied()
    }

    /// Returns the path of an inode, with a leading `/`.
    fn path(&self, id: InodeId) -> Vec<u8> {
        let mut components = Vec::new();
        let mut next = self.get(id);
        while let Some((parent, name)) = next {
            components.push(name.as_bytes());
            next = self.get(parent);
        }
        let mut path = Vec::new();
        for name in components.into_iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        path
    }
}
