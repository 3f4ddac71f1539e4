//! The image of staged directories: an EROFS filesystem whose root has a directory for each of them, `0`,
//! `1` and so on.

use fstree::{Directory, FileKind, Inode, InodeId, Metadata, Name, Tree};

use crate::Content;
use crate::error::OpenError;

/// The lower files of the staged directories, each below its path in the sandbox.
#[derive(Debug)]
pub(crate) struct StagedImage {
    /// The tree of the image with a new root. Inodes of the image keep their identifiers.
    pub(crate) tree: Tree<Content>,
    /// The staged directories, in the order of their numbers.
    pub(crate) mounts: Vec<StagedMount>,
}

/// A staged directory.
#[derive(Debug)]
pub(crate) struct StagedMount {
    /// The path in the sandbox.
    pub(crate) target: Vec<u8>,
    /// The directory of the image.
    pub(crate) directory: InodeId,
}

impl StagedImage {
    /// Puts the directories of the image's tree below the paths of their mounts.
    pub(crate) fn new(mut tree: Tree<Content>, targets: &[Vec<u8>]) -> Result<Self, OpenError> {
        let root = tree.root();
        let mut mounts = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            let directory = tree.lookup(root, index.to_string().as_bytes());
            let directory = directory.filter(|id| tree.directory(*id).is_some());
            mounts.push(StagedMount {
                target: target.clone(),
                directory: directory.ok_or(OpenError::NoStaged)?,
            });
        }
        *tree.inode_mut(root) = Inode {
            metadata: Metadata::directory(0o755),
            kind: FileKind::Directory(Directory::new()),
        };
        for mount in &mounts {
            let mut parent = root;
            let names: Vec<&[u8]> = names_of(&mount.target).collect();
            for name in names.iter().take(names.len().saturating_sub(1)) {
                parent = match tree.lookup(parent, name) {
                    Some(known) => known,
                    None => {
                        let added = tree.add(Inode::directory(Metadata::directory(0o755)));
                        tree.link(parent, plain(name)?, added);
                        added
                    }
                };
            }
            tree.link(parent, last_name(&mount.target)?, mount.directory);
        }
        Ok(Self { tree, mounts })
    }
}

/// Returns the names of a path.
pub(crate) fn names_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty())
}

/// Returns the last name of a path.
pub(crate) fn last_name(path: &[u8]) -> Result<Name, OpenError> {
    plain(names_of(path).last().unwrap_or_default())
}

/// Returns a name of a path as a name of a tree.
pub(crate) fn plain(name: &[u8]) -> Result<Name, OpenError> {
    Name::new(name).map_err(|_| OpenError::NoStaged)
}
