use std::collections::HashMap;
use std::sync::Arc;

use fstree::{InodeId, Tree};

use crate::Change;

/// The files that have several names in one of the trees.
#[derive(Debug)]
pub(crate) struct HardLinks {
    /// Number of names of each file, by arena index; 0 for directories.
    old_counts: Vec<u32>,
    new_counts: Vec<u32>,
    /// The partner of each file at the first name that both trees have. A name with another partner
    /// has left its group, or joined another one.
    new_of_old: HashMap<InodeId, InodeId>,
    old_of_new: HashMap<InodeId, InodeId>,
    /// A name of each new file that has several.
    anchors: HashMap<InodeId, Anchor>,
}

/// The name of a file that its other names are links to.
#[derive(Debug)]
struct Anchor {
    path: Arc<[u8]>,
    /// True if the old tree has the name too, for what became this file.
    was_there: bool,
}

impl HardLinks {
    pub(crate) fn new<O, N>(old: &Tree<O>, new: &Tree<N>) -> Self {
        Self {
            old_counts: name_counts(old),
            new_counts: name_counts(new),
            new_of_old: HashMap::new(),
            old_of_new: HashMap::new(),
            anchors: HashMap::new(),
        }
    }

    /// Returns true if a name that both trees have is in another group of hard links than before.
    pub(crate) fn is_regrouped(&mut self, old: InodeId, new: InodeId) -> bool {
        let is_single = |counts: &[u32], id: InodeId| counts[id.index()] < 2;
        if is_single(&self.old_counts, old) && is_single(&self.new_counts, new) {
            return false;
        }
        let first_new = *self.new_of_old.entry(old).or_insert(new);
        let first_old = *self.old_of_new.entry(new).or_insert(old);
        first_new != new || first_old != old
    }

    /// Notes a name of a new file. `was_there` is true if the old tree has the name for the same
    /// file. Returns true if the path is kept.
    pub(crate) fn note_name(&mut self, new: InodeId, was_there: bool, path: &[u8]) -> bool {
        if self.new_counts[new.index()] < 2 {
            return false;
        }
        let known = self.anchors.get(&new);
        if known.is_some_and(|anchor| anchor.was_there || !was_there) {
            return false;
        }
        let path = path.into();
        self.anchors.insert(new, Anchor { path, was_there });
        true
    }

    /// Fills in the links of the changes.
    pub(crate) fn finish(&self, changes: &mut [Change]) {
        for change in changes {
            let anchor = change.new.and_then(|new| self.anchors.get(&new));
            let anchor = anchor.filter(|anchor| *anchor.path != *change.path);
            change.hard_link = anchor.map(|anchor| Arc::clone(&anchor.path));
        }
    }
}

fn name_counts<D>(tree: &Tree<D>) -> Vec<u32> {
    let mut counts = vec![0; tree.len()];
    for link in tree.links() {
        if tree.directory(link.id).is_none() {
            counts[link.id.index()] += 1;
        }
    }
    counts
}
