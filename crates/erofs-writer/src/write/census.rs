use fstree::{InodeId, Tree};

use crate::FileData;
use crate::error::{InvalidInode, WriteError};

/// The inodes that names reach, with their parents and their numbers of links.
#[derive(Debug)]
pub(super) struct Census {
    /// The inodes in the order of the image. The root comes first, then the entries of each
    /// directory in turn, so that the inodes of one directory lie together.
    pub(super) order: Vec<InodeId>,
    /// By [`InodeId::index`]: the first directory that names the inode; the root for the root.
    parents: Vec<Option<InodeId>>,
    /// By [`InodeId::index`]: the number of names, as in `st_nlink`.
    links: Vec<u64>,
}

impl Census {
    pub(super) fn take(tree: &Tree<FileData>) -> Result<Self, WriteError> {
        let root = tree.root();
        let mut census = Self {
            order: vec![root],
            parents: vec![None; tree.len()],
            links: vec![0; tree.len()],
        };
        census.parents[root.index()] = Some(root);
        census.links[root.index()] = 2;
        let mut next = 0;
        while let Some(&directory) = census.order.get(next) {
            next += 1;
            for &id in tree
                .directory(directory)
                .into_iter()
                .flat_map(|names| names.values())
            {
                census.count(tree, directory, id)?;
            }
        }
        Ok(census)
    }

    /// Counts one name in `directory` that refers to `id`.
    fn count(
        &mut self,
        tree: &Tree<FileData>,
        directory: InodeId,
        id: InodeId,
    ) -> Result<(), WriteError> {
        let is_directory = tree.directory(id).is_some();
        let is_new = self.parents[id.index()].is_none();
        if is_new {
            self.parents[id.index()] = Some(directory);
            self.order.push(id);
        } else if is_directory {
            return Err(self.refuse(tree, id, InvalidInode::SecondDirectoryName));
        }
        self.links[id.index()] += if is_directory { 2 } else { 1 };
        self.links[directory.index()] += u64::from(is_directory);
        Ok(())
    }

    /// Returns the directory that `..` in `id` refers to.
    pub(super) fn parent(&self, id: InodeId) -> InodeId {
        self.parents[id.index()].unwrap_or(id)
    }

    /// Returns the number of links of `id`, as in `st_nlink`.
    pub(super) fn links(&self, id: InodeId) -> Result<u32, InvalidInode> {
        let links = self.links[id.index()];
        u32::try_from(links).map_err(|_| InvalidInode::TooManyLinks { links })
    }

    /// Returns the error for a problem with `id`, which names the inode's first path.
    pub(super) fn refuse(
        &self,
        tree: &Tree<FileData>,
        id: InodeId,
        problem: InvalidInode,
    ) -> WriteError {
        WriteError::Input {
            path: self.path(tree, id),
            problem,
        }
    }

    fn path(&self, tree: &Tree<FileData>, id: InodeId) -> String {
        let mut names = Vec::new();
        let mut child = id;
        while child != tree.root() {
            let parent = self.parent(child);
            let name = tree
                .directory(parent)
                .into_iter()
                .flatten()
                .find_map(|(name, &named)| (named == child).then(|| name.to_string()));
            names.extend(name);
            child = parent;
        }
        names.reverse();
        format!("/{}", names.join("/"))
    }
}
