//! The files of a stopped sandbox that its mounts hide while it runs.

use std::collections::{HashMap, HashSet};

use fstree::{InodeId, ReadAt, Tree};
use msb_runtime::Target;
use rootfs_view::{Content, View};

/// The targets of a sandbox's mounts, and the files below them.
#[derive(Debug)]
pub(crate) struct Covered {
    targets: Vec<Target>,
    /// The inodes of the sandbox's own disks at and below each target, with the target's index.
    inodes: HashMap<InodeId, usize>,
    /// The inodes that are mount points themselves.
    points: HashSet<InodeId>,
}

impl Covered {
    pub(super) fn new<R: ReadAt>(targets: Vec<Target>, view: &View<R>) -> Self {
        let mut inodes = HashMap::new();
        let mut points = HashSet::new();
        for (index, target) in targets.iter().enumerate() {
            if let Ok(id) = view.resolve(target.as_str().as_bytes(), true) {
                let below = all_below(view.tree(), id).into_iter();
                inodes.extend(below.map(|id| (id, index)));
                points.insert(id);
            }
        }
        Self {
            targets,
            inodes,
            points,
        }
    }

    /// Returns the mount that hides `path`, which leads to the inode `found`.
    pub(super) fn at(&self, path: &[u8], found: Option<&InodeId>) -> Option<&Target> {
        let by_name = self.targets.iter().find(|target| target.covers(path));
        by_name.or_else(|| self.targets.get(*self.inodes.get(found?)?))
    }

    /// Returns true if a mount covers exactly this inode.
    pub(super) fn is_mount(&self, id: InodeId) -> bool {
        self.points.contains(&id)
    }

    /// Returns a mount at any depth in the directory `id`.
    pub(super) fn below(&self, tree: &Tree<Content>, id: InodeId) -> Option<&Target> {
        if self.inodes.is_empty() {
            return None;
        }
        let below = all_below(tree, id);
        let index = below.iter().find_map(|id| self.inodes.get(id))?;
        self.targets.get(*index)
    }
}

/// Returns an inode, and all inodes below it.
fn all_below(tree: &Tree<Content>, id: InodeId) -> HashSet<InodeId> {
    let mut all = HashSet::from([id]);
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        let names = tree
            .directory(id)
            .into_iter()
            .flat_map(|names| names.iter());
        open.extend(names.map(|(_, &id)| id).filter(|&id| all.insert(id)));
    }
    all
}

#[cfg(test)]
mod tests {
    use fstree::{FileKind, Inode, Metadata, Name};

    use super::*;

    #[test]
    fn what_is_mounted_over_is_known_by_name_and_by_inode() {
        let mut tree: Tree<Content> = Tree::new(Metadata::directory(0o755));
        let mut add = |parent: Option<InodeId>, name: &[u8]| {
            let id = tree.add(Inode::directory(Metadata::directory(0o755)));
            let parent = parent.unwrap_or(tree.root());
            tree.link(parent, Name::new(name).expect("a name"), id);
            id
        };
        let data = add(None, b"data");
        let inner = add(Some(data), b"inner");
        let beside = add(None, b"beside");
        assert!(matches!(tree.inode(data).kind, FileKind::Directory(_)));
        let covered = Covered {
            targets: vec!["/data".parse().expect("a target")],
            inodes: all_below(&tree, data)
                .into_iter()
                .map(|id| (id, 0))
                .collect(),
            points: HashSet::from([data]),
        };
        assert!(covered.is_mount(data) && !covered.is_mount(inner));
        assert!(covered.at(b"/data/missing", None).is_some());
        // The inode may be found by a symlink.
        assert!(covered.at(b"/link", Some(&inner)).is_some());
        assert!(covered.at(b"/beside", Some(&beside)).is_none());
        assert!(covered.below(&tree, tree.root()).is_some());
        assert!(covered.below(&tree, beside).is_none());
    }
}
