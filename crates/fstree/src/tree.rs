use crate::{Directory, FileKind, Inode, Link, Links, Metadata, Name, Walk};

/// The index of an inode in its tree's arena. The root is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(u32);

impl InodeId {
    /// Returns the index, for tables that are parallel to the arena.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A filesystem: an arena of inodes, the first of which is the root directory.
///
/// An inode whose last name is removed stays in the arena. It cannot be reached, so walks and link
/// counts do not include it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree<D> {
    inodes: Vec<Inode<D>>,
}

impl<D> Tree<D> {
    /// Returns a tree with an empty root directory.
    #[must_use]
    pub fn new(root: Metadata) -> Self {
        Self {
            inodes: vec![Inode::directory(root)],
        }
    }

    /// Returns the root directory.
    #[must_use]
    pub const fn root(&self) -> InodeId {
        InodeId(0)
    }

    /// Returns the number of inodes in the arena, reachable or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inodes.len()
    }

    /// Returns false, because every tree has a root.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns the inode at `id`.
    #[must_use]
    pub fn inode(&self, id: InodeId) -> &Inode<D> {
        &self.inodes[id.index()]
    }

    /// Returns the inode at `id` for modification.
    pub fn inode_mut(&mut self, id: InodeId) -> &mut Inode<D> {
        &mut self.inodes[id.index()]
    }

    /// Adds an inode to the arena, without a name, and returns its identifier.
    ///
    /// # Panics
    /// The tree has 2^32 inodes already. No image format of this project can number more.
    pub fn add(&mut self, inode: Inode<D>) -> InodeId {
        let id = u32::try_from(self.inodes.len()).expect("a tree has fewer than 2^32 inodes");
        self.inodes.push(inode);
        InodeId(id)
    }

    /// Returns the names in `directory`. `None` if it is not a directory.
    #[must_use]
    pub fn directory(&self, directory: InodeId) -> Option<&Directory> {
        self.inode(directory).kind.as_directory()
    }

    /// Names `id` in `parent`. Returns the inode that had this name before, or `None` if it is new.
    ///
    /// # Panics
    /// `parent` is not a directory.
    pub fn link(&mut self, parent: InodeId, name: Name, id: InodeId) -> Option<InodeId> {
        self.directory_mut(parent).insert(name, id)
    }

    /// Removes `name` from `parent`. Returns the inode that it referred to, or `None` if it is
    /// absent.
    ///
    /// # Panics
    /// `parent` is not a directory.
    pub fn unlink(&mut self, parent: InodeId, name: &[u8]) -> Option<InodeId> {
        self.directory_mut(parent).remove(name)
    }

    /// Returns the inode of `name` in `parent`. `None` if it does not exist or `parent` is not a
    /// directory.
    #[must_use]
    pub fn lookup(&self, parent: InodeId, name: &[u8]) -> Option<InodeId> {
        self.directory(parent)?.get(name).copied()
    }

    /// Returns the inode at `path`, from the root. Symlinks, `.` and `..` are not followed, and
    /// empty components are skipped. `None` if it does not exist.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<InodeId> {
        path.split(|&byte| byte == b'/')
            .filter(|component| !component.is_empty())
            .try_fold(self.root(), |directory, name| self.lookup(directory, name))
    }

    /// Returns the number of names in all directories, including unreachable ones.
    #[must_use]
    pub fn names(&self) -> usize {
        let directories = self.inodes.iter();
        let directories = directories.filter_map(|inode| inode.kind.as_directory());
        directories.map(|names| names.len()).sum()
    }

    /// Iterates over every name except the root's, parents before children. Names are in bytewise
    /// order. The time depends on the number of names and not on their depth.
    #[must_use]
    pub fn links(&self) -> Links<'_, D> {
        Links::new(self)
    }

    /// Iterates over every name including the root's, with its path. Time and memory depend on the
    /// length of the paths.
    #[must_use]
    pub fn walk(&self) -> Walk<'_, D> {
        Walk::new(self)
    }

    /// Returns `st_nlink` of every inode, by [`InodeId::index`]. It is the number of names of a
    /// file, 2 plus the number of subdirectories of a directory, and 0 for an inode that cannot be
    /// reached.
    #[must_use]
    pub fn link_counts(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.inodes.len()];
        counts[self.root().index()] = 2;
        for Link { parent, id, .. } in self.links() {
            if self.directory(id).is_some() {
                counts[id.index()] += 2;
                counts[parent.index()] += 1;
            } else {
                counts[id.index()] += 1;
            }
        }
        counts
    }

    /// Returns the tree with the content of each regular file replaced by `content`.
    ///
    /// # Errors
    /// The first error of `content`.
    pub fn try_map<E, F>(self, mut content: impl FnMut(D) -> Result<E, F>) -> Result<Tree<E>, F> {
        let inodes = self.inodes.into_iter().map(|inode| {
            let kind = match inode.kind {
                FileKind::Regular(data) => FileKind::Regular(content(data)?),
                FileKind::Directory(names) => FileKind::Directory(names),
                FileKind::Symlink(target) => FileKind::Symlink(target),
                FileKind::CharDevice(device) => FileKind::CharDevice(device),
                FileKind::BlockDevice(device) => FileKind::BlockDevice(device),
                FileKind::Fifo => FileKind::Fifo,
                FileKind::Socket => FileKind::Socket,
            };
            Ok(Inode {
                metadata: inode.metadata,
                kind,
            })
        });
        Ok(Tree {
            inodes: inodes.collect::<Result<_, F>>()?,
        })
    }

    fn directory_mut(&mut self, directory: InodeId) -> &mut Directory {
        match &mut self.inode_mut(directory).kind {
            FileKind::Directory(names) => names,
            _ => panic!("inode {} is not a directory", directory.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> Name {
        Name::new(bytes).expect("a valid name")
    }

    #[test]
    fn link_counts_follow_names_and_subdirectories() {
        let mut tree: Tree<()> = Tree::new(Metadata::directory(0o755));
        let root = tree.root();
        let sub = tree.add(Inode::directory(Metadata::directory(0o755)));
        let file = tree.add(Inode {
            metadata: Metadata::default(),
            kind: FileKind::Regular(()),
        });
        tree.link(root, name(b"sub"), sub);
        tree.link(root, name(b"one"), file);
        tree.link(sub, name(b"two"), file);
        assert_eq!(tree.link_counts(), [3, 2, 2]);
        assert_eq!(tree.find(b"/sub//two"), Some(file));

        tree.unlink(root, b"sub");
        assert_eq!(tree.link_counts(), [2, 0, 1]);
        assert_eq!(tree.find(b"sub/two"), None);
    }
}
