use crate::{Directory, FileKind, Inode, Link, Links, Metadata, Name, Walk};

/// An inode's place in its tree's arena. The root is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(u32);

impl InodeId {
    /// The place as an index, for tables that run beside the arena.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A filesystem: an arena of inodes, the first of which is the root directory.
///
/// An inode whose last name is unlinked stays in the arena, unreachable; walks and link counts do
/// not see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree<D> {
    inodes: Vec<Inode<D>>,
}

impl<D> Tree<D> {
    /// A tree of one empty root directory.
    pub fn new(root: Metadata) -> Self {
        Self {
            inodes: vec![Inode::directory(root)],
        }
    }

    /// The root directory.
    pub const fn root(&self) -> InodeId {
        InodeId(0)
    }

    /// How many inodes the arena holds, reachable or not.
    pub fn len(&self) -> usize {
        self.inodes.len()
    }

    /// Never: a tree has a root.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The inode at `id`.
    pub fn inode(&self, id: InodeId) -> &Inode<D> {
        &self.inodes[id.index()]
    }

    /// The inode at `id`, to change it.
    pub fn inode_mut(&mut self, id: InodeId) -> &mut Inode<D> {
        &mut self.inodes[id.index()]
    }

    /// Puts an inode into the arena, without a name yet.
    ///
    /// # Panics
    /// Past 2^32 inodes, which no image format here can number either.
    pub fn add(&mut self, inode: Inode<D>) -> InodeId {
        let id = u32::try_from(self.inodes.len()).expect("a tree has fewer than 2^32 inodes");
        self.inodes.push(inode);
        InodeId(id)
    }

    /// The names in `directory`; `None` when it is something else.
    pub fn directory(&self, directory: InodeId) -> Option<&Directory> {
        self.inode(directory).kind.as_directory()
    }

    /// Names `id` in `parent` and gives back what had that name before.
    ///
    /// # Panics
    /// When `parent` is not a directory.
    pub fn link(&mut self, parent: InodeId, name: Name, id: InodeId) -> Option<InodeId> {
        self.directory_mut(parent).insert(name, id)
    }

    /// Takes `name` out of `parent` and gives back what it named.
    ///
    /// # Panics
    /// When `parent` is not a directory.
    pub fn unlink(&mut self, parent: InodeId, name: &[u8]) -> Option<InodeId> {
        self.directory_mut(parent).remove(name)
    }

    /// What `name` in `parent` names; `None` too when `parent` is not a directory.
    pub fn lookup(&self, parent: InodeId, name: &[u8]) -> Option<InodeId> {
        self.directory(parent)?.get(name).copied()
    }

    /// Follows `path` from the root by names alone: no symlinks, no `.` or `..`; empty components
    /// are skipped.
    pub fn find(&self, path: &[u8]) -> Option<InodeId> {
        path.split(|&byte| byte == b'/')
            .filter(|component| !component.is_empty())
            .try_fold(self.root(), |directory, name| self.lookup(directory, name))
    }

    /// How many names the directories hold, reachable or not.
    pub fn names(&self) -> usize {
        let directories = self.inodes.iter();
        let directories = directories.filter_map(|inode| inode.kind.as_directory());
        directories.map(|names| names.len()).sum()
    }

    /// Every name in the tree but the root's, parents before children, names in bytewise order.
    /// Takes time for each name and none for depth.
    pub fn links(&self) -> Links<'_, D> {
        Links::new(self)
    }

    /// The same with the root and with paths, which take time and memory by their length.
    pub fn walk(&self) -> Walk<'_, D> {
        Walk::new(self)
    }

    /// `st_nlink` of every inode, by [`InodeId::index`]: the names that reach a file, 2 plus the
    /// subdirectories of a directory, 0 for what cannot be reached.
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

    /// The same tree with each regular file's content replaced.
    ///
    /// # Errors
    /// The first that `content` gives.
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
