use fstree::{Directory, FileKind, FileType, Inode, InodeId, InvalidName, Metadata, Name, Tree};

use super::{Body, Fault, Image, Node, Nodes, ReadAt, ReadError, Structure};
use crate::FileData;
use crate::dirent::DirEntry;
use crate::inode::device_from_number;

/// The entries of a directory, kept until every inode has its identifier.
struct Named {
    directory: InodeId,
    nid: u64,
    offset_bytes: u64,
    entries: Vec<DirEntry>,
}

impl<R: ReadAt> Image<R> {
    /// Reads all metadata. The image's size bounds time and memory.
    ///
    /// Inodes are in the order of their first names, directory after directory. So a tree that was
    /// written in another order gets other identifiers when it is read.
    pub fn read_tree(&self) -> Result<Tree<FileData>, ReadError> {
        self.read_numbered_tree().map(|(tree, _)| tree)
    }

    /// Reads all metadata. Returns the tree and each inode's number (`nid`), by its identifier.
    ///
    /// # Errors
    /// The image cannot be read, is corrupt, or is not supported.
    pub fn read_numbered_tree(&self) -> Result<(Tree<FileData>, Vec<u64>), ReadError> {
        let mut nodes = Nodes::new(self);
        let mut tree = Tree::new(Metadata::default());
        let (mut ids, mut numbers) = (Vec::new(), Vec::new());
        let mut directories = Vec::new();
        while let Some(mut node) = nodes.next()? {
            let id = if ids.is_empty() {
                tree.inode_mut(tree.root()).metadata = metadata(&mut node);
                tree.root()
            } else {
                let metadata = metadata(&mut node);
                let kind = kind(&mut node);
                tree.add(Inode { metadata, kind })
            };
            ids.push(id);
            numbers.push(node.nid);
            if let Body::Directory(entries) = node.body {
                directories.push(Named {
                    directory: id,
                    nid: node.nid,
                    offset_bytes: node.spans.inode.start,
                    entries,
                });
            }
        }
        for named in directories {
            let names = named.names(|nid| nodes.place(nid).map(|place| ids[place]))?;
            tree.inode_mut(named.directory).kind = FileKind::Directory(names);
        }
        Ok((tree, numbers))
    }

    /// Reads the metadata of the root directory alone.
    ///
    /// # Errors
    /// The root cannot be read, or it is not a directory.
    pub fn root_metadata(&self) -> Result<Metadata, ReadError> {
        let root = Nodes::new(self).next()?;
        Ok(root.map(|mut node| metadata(&mut node)).unwrap_or_default())
    }
}

impl Named {
    fn names(&self, id: impl Fn(u64) -> Option<InodeId>) -> Result<Directory, ReadError> {
        let entries = self.entries.iter().filter(|entry| !entry.is_dots());
        let pairs = entries.map(|entry| {
            let id = id(entry.nid).expect("every name was followed");
            Ok((Name::new(&entry.name)?, id))
        });
        pairs.collect::<Result<_, InvalidName>>().map_err(|error| {
            Structure::Directory(self.nid).corrupt(self.offset_bytes, Fault::Name(error))
        })
    }
}

fn metadata(node: &mut Node) -> Metadata {
    Metadata {
        mode: node.inode.mode & !FileType::MASK,
        uid: node.inode.uid,
        gid: node.inode.gid,
        mtime: node.inode.mtime,
        xattrs: std::mem::take(&mut node.xattrs),
    }
}

/// Returns the kind of an inode. A directory is still empty.
fn kind(node: &mut Node) -> FileKind<FileData> {
    let device = device_from_number(node.inode.union);
    match (&mut node.body, node.file_type) {
        (Body::Regular(data), _) => FileKind::Regular(std::mem::take(data)),
        (Body::Symlink(target), _) => FileKind::Symlink(std::mem::take(target).into()),
        (Body::Directory(_), _) => FileKind::Directory(Directory::new()),
        (Body::None, FileType::CharDevice) => FileKind::CharDevice(device),
        (Body::None, FileType::BlockDevice) => FileKind::BlockDevice(device),
        (Body::None, FileType::Socket) => FileKind::Socket,
        (Body::None, _) => FileKind::Fifo,
    }
}
