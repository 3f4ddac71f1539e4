use std::collections::btree_map;

use crate::{InodeId, Name, Tree};

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    /// The directory that holds the name.
    pub parent: InodeId,
    /// The name itself, a single component.
    pub name: &'a Name,
    /// The inode that the name refers to.
    pub id: InodeId,
    /// Depth below the root; 1 for the root's own entries.
    pub depth: usize,
}

/// An iterator over every name that can be reached from the root, parents before children. Depth
/// costs heap, not stack.
#[derive(Debug)]
pub struct Links<'a, D> {
    tree: &'a Tree<D>,
    open: Vec<(InodeId, btree_map::Iter<'a, Name, InodeId>)>,
}

impl<'a, D> Links<'a, D> {
    pub(crate) fn new(tree: &'a Tree<D>) -> Self {
        let mut links = Self {
            tree,
            open: Vec::new(),
        };
        links.enter(tree.root());
        links
    }

    fn enter(&mut self, id: InodeId) {
        if let Some(names) = self.tree.directory(id) {
            self.open.push((id, names.iter()));
        }
    }
}

impl<'a, D> Iterator for Links<'a, D> {
    type Item = Link<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let depth = self.open.len();
            let (parent, names) = self.open.last_mut()?;
            let parent = *parent;
            let Some((name, &id)) = names.next() else {
                self.open.pop();
                continue;
            };
            self.enter(id);
            return Some(Link {
                parent,
                name,
                id,
                depth,
            });
        }
    }
}
