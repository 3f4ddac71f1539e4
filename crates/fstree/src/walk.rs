use crate::{Inode, InodeId, Links, Tree};

/// A name that a walk visits.
#[derive(Debug)]
pub struct WalkEntry<'a, D> {
    /// Path from the root, without a leading `/`; empty for the root itself.
    pub path: Vec<u8>,
    /// The directory that holds the name; for the root the root itself.
    pub parent: InodeId,
    /// The identifier of the inode that the name refers to.
    pub id: InodeId,
    /// The inode that the name refers to.
    pub inode: &'a Inode<D>,
}

/// An iterator over every name with its path, parents before children, names in bytewise order.
#[derive(Debug)]
pub struct Walk<'a, D> {
    tree: &'a Tree<D>,
    root_is_due: bool,
    links: Links<'a, D>,
    path: Vec<u8>,
    /// The offsets in `path` at which the names on the way to the last one start.
    starts: Vec<usize>,
}

impl<'a, D> Walk<'a, D> {
    pub(crate) fn new(tree: &'a Tree<D>) -> Self {
        Self {
            tree,
            root_is_due: true,
            links: tree.links(),
            path: Vec::new(),
            starts: Vec::new(),
        }
    }

    fn entry(&self, parent: InodeId, id: InodeId) -> WalkEntry<'a, D> {
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
            return Some(self.entry(root, root));
        }
        let link = self.links.next()?;
        if let Some(&start) = self.starts.get(link.depth - 1) {
            self.path.truncate(start);
            self.starts.truncate(link.depth - 1);
        }
        self.starts.push(self.path.len());
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(link.name.as_bytes());
        Some(self.entry(link.parent, link.id))
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
