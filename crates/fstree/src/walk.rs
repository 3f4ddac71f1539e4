use std::collections::btree_map;

use crate::{Inode, InodeId, Name, Tree};

/// One name met on a walk.
#[derive(Debug)]
pub struct WalkEntry<'a, D> {
    /// Path from the root, without a leading `/`; empty for the root itself.
    pub path: Vec<u8>,
    /// The directory that holds the name; the root for the root.
    pub parent: InodeId,
    /// What the name names.
    pub id: InodeId,
    /// The inode itself.
    pub inode: &'a Inode<D>,
}

/// A walk over every name, parents before children, names in bytewise order. Depth costs heap, not
/// stack.
#[derive(Debug)]
pub struct Walk<'a, D> {
    tree: &'a Tree<D>,
    root_is_due: bool,
    open: Vec<Level<'a>>,
    path: Vec<u8>,
}

#[derive(Debug)]
struct Level<'a> {
    directory: InodeId,
    path_length: usize,
    names: btree_map::Iter<'a, Name, InodeId>,
}

impl<'a, D> Walk<'a, D> {
    pub(crate) fn new(tree: &'a Tree<D>) -> Self {
        Self {
            tree,
            root_is_due: true,
            open: Vec::new(),
            path: Vec::new(),
        }
    }

    fn enter(&mut self, directory: InodeId) {
        if let Some(names) = self.tree.directory(directory) {
            let path_length = self.path.len();
            self.open.push(Level {
                directory,
                path_length,
                names: names.iter(),
            });
        }
    }

    fn visit(&mut self, parent: InodeId, id: InodeId) -> WalkEntry<'a, D> {
        self.enter(id);
        WalkEntry {
            path: self.path.clone(),
            parent,
            id,
            inode: self.tree.inode(id),
        }
    }
}

impl<'a, D> Iterator for Walk<'a, D> {
    type Item = WalkEntry<'a, D>;

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::take(&mut self.root_is_due) {
            let root = self.tree.root();
            return Some(self.visit(root, root));
        }
        loop {
            let level = self.open.last_mut()?;
            self.path.truncate(level.path_length);
            let Some((name, &id)) = level.names.next() else {
                self.open.pop();
                continue;
            };
            let parent = level.directory;
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.as_bytes());
            return Some(self.visit(parent, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Inode, Metadata, Name, Tree};

    #[test]
    fn a_walk_is_preorder_and_survives_depth() {
        let mut tree: Tree<()> = Tree::new(Metadata::default());
        let mut directory = tree.root();
        for _ in 0..2_000 {
            let child = tree.add(Inode::directory(Metadata::default()));
            tree.link(directory, Name::new(b"d").expect("valid"), child);
            directory = child;
        }
        let paths: Vec<_> = tree.walk().map(|entry| entry.path).collect();
        assert_eq!(paths.len(), 2_001);
        assert_eq!(&paths[..3], &[&b""[..], b"d", b"d/d"]);
    }
}
