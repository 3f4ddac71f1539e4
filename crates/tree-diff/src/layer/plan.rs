use std::collections::BTreeMap;

use fstree::{Directory, FileKind, InodeId};

use super::LayerOptions;
use super::metadata::layered;
use super::note::{LayerNoteReason, Notes};
use crate::{Change, ChangeKind, Differences, Relation, Side};

/// The entries of a layer.
#[derive(Debug)]
pub(super) struct Plan {
    /// True for each new inode that the layer has, by arena index: changed files under all their
    /// names, and the directories above them.
    needed: Vec<bool>,
    /// The names that the layer removes, by new directory.
    removed: BTreeMap<InodeId, Removed>,
    /// Notes on the sockets that the layer lacks, and on the xattrs of files that it has no entry for.
    notes: Notes,
}

/// The names that a layer removes from a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// True if nothing of the lower directory shows.
    pub(super) is_opaque: bool,
    /// The names, in bytewise order.
    pub(super) names: Vec<Vec<u8>>,
}

impl Plan {
    pub(super) fn new<O: Side, N: Side>(
        old: &O,
        new: &N,
        relation: &impl Relation<O::Content, N::Content>,
        changes: &[Change],
        options: LayerOptions,
    ) -> Self {
        let mut plan = Self {
            needed: vec![false; new.tree().len()],
            removed: BTreeMap::new(),
            notes: Notes::default(),
        };
        let is_same = |change: &&Change| is_same(old, new, change, options);
        for change in changes.iter().filter(|change| !is_same(change)) {
            plan.add((old, new), relation, change);
        }
        for removed in plan.removed.values_mut() {
            removed.names.sort();
        }
        plan.add_directories(new);
        for change in changes.iter().filter(is_same) {
            plan.note(new, change, options);
        }
        plan
    }

    /// Returns true if the layer has no entries.
    pub(super) fn is_empty(&self) -> bool {
        // The root is above every entry.
        !self.needed.contains(&true)
    }

    /// Returns true if the layer has an entry for an inode.
    pub(super) fn is_needed(&self, id: InodeId) -> bool {
        self.needed[id.index()]
    }

    /// Returns the names that are removed from a directory; `None` if there are none.
    pub(super) fn removed(&self, directory: InodeId) -> Option<&Removed> {
        self.removed.get(&directory)
    }

    pub(super) const fn notes(&self) -> &Notes {
        &self.notes
    }

    fn add<O: Side, N: Side>(
        &mut self,
        (old, new): (&O, &N),
        relation: &impl Relation<O::Content, N::Content>,
        change: &Change,
    ) {
        let Some(id) = change.new else {
            if !change.is_implied {
                self.remove(old, new, relation, &change.path);
            }
            return;
        };
        if matches!(new.tree().inode(id).kind, FileKind::Socket) {
            (self.notes).add(change.path.clone(), LayerNoteReason::Socket);
            let is_below = change
                .old
                .is_some_and(|old_id| !matches!(old.tree().inode(old_id).kind, FileKind::Socket));
            if is_below {
                self.remove(old, new, relation, &change.path);
            }
        } else {
            self.needed[id.index()] = true;
        }
    }

    /// Notes the xattrs that are the whole change of a file, if the layer has no entry for the file.
    fn note<N: Side>(&mut self, new: &N, change: &Change, options: LayerOptions) {
        let Some(id) = change.new.filter(|&id| !self.is_needed(id)) else {
            return;
        };
        let inode = new.tree().inode(id);
        layered(&inode.metadata, inode.kind.file_type(), options, |name| {
            let name = name.to_vec();
            let reason = LayerNoteReason::Xattr { name };
            self.notes.add(change.path.clone(), reason);
        });
    }

    /// Removes a name of the old tree from a directory that both trees have.
    fn remove<O: Side, N: Side>(
        &mut self,
        old: &O,
        new: &N,
        relation: &impl Relation<O::Content, N::Content>,
        path: &[u8],
    ) {
        let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let (above, name) = (&path[..end], path.get(end + 1..).unwrap_or_default());
        let (Some(old_id), Some(new_id)) = (old.tree().find(above), new.tree().find(above)) else {
            return;
        };
        let removed = self.removed.entry(new_id).or_insert_with(|| Removed {
            is_opaque: relation.is_replaced(old_id, new_id)
                && shares_no_name(old, old_id, new, new_id),
            names: Vec::new(),
        });
        removed.names.push(name.to_vec());
        self.needed[new_id.index()] = true;
    }

    /// Adds the directories above all entries.
    fn add_directories<N: Side>(&mut self, new: &N) {
        let links = new.tree().links();
        let mut links: Vec<_> = links.map(|link| (link.parent, link.id)).collect();
        // Children come before their parents.
        links.reverse();
        for (parent, id) in links {
            self.needed[parent.index()] |= self.needed[id.index()];
        }
    }
}

/// Returns true if a layer would have the metadata of the old file for the new one, and nothing else is
/// changed.
fn is_same<O: Side, N: Side>(old: &O, new: &N, change: &Change, options: LayerOptions) -> bool {
    let of_metadata = Differences::MTIME | Differences::XATTRS;
    match (change.old, change.new, change.kind) {
        (Some(old_id), Some(new_id), ChangeKind::Changed(differences))
            if of_metadata.contains(differences) =>
        {
            let inode = new.tree().inode(new_id);
            let layered = layered(&inode.metadata, inode.kind.file_type(), options, |_| ());
            layered == old.tree().inode(old_id).metadata
        }
        _ => false,
    }
}

/// Returns true if no name of an old directory is in the new one.
fn shares_no_name<O: Side, N: Side>(
    old: &O,
    old_directory: InodeId,
    new: &N,
    new_directory: InodeId,
) -> bool {
    let empty = Directory::new();
    let names = old.tree().directory(old_directory).unwrap_or(&empty);
    let mut names = names.keys();
    names.all(|name| new.tree().lookup(new_directory, name.as_bytes()).is_none())
}
