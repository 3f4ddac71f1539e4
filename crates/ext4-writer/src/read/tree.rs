use fstree::{Directory, FileKind, FileType, Inode, InodeId, Metadata, Name, Tree};

use super::dirent::DirEntry;
use super::node::{Body, Node};
use super::walk::Nodes;
use super::{Fault, FileData, Image, ReadAt, ReadError, Structure};

/// Entries of a directory, kept until every inode has its identifier.
struct Named {
    directory: InodeId,
    number: u32,
    offset_bytes: u64,
    entries: Vec<DirEntry>,
}

impl<R: ReadAt> Image<R> {
    /// Reads the metadata of all inodes that have a name. The image's size bounds time and memory.
    ///
    /// Inodes come in the order of their first names, directory by directory, so a tree that was
    /// written in another order gets other identifiers.
    ///
    /// # Errors
    /// If the image cannot be read, is corrupt, or uses a feature that is not supported.
    pub fn read_tree(&self) -> Result<Tree<FileData>, ReadError> {
        let mut nodes = Nodes::new(self);
        let mut tree = Tree::new(Metadata::default());
        let mut ids = Vec::new();
        let mut directories = Vec::new();
        while let Some(mut node) = nodes.next()? {
            let metadata = metadata(&mut node);
            let id = if ids.is_empty() {
                check_root(&node)?;
                tree.inode_mut(tree.root()).metadata = metadata;
                tree.root()
            } else {
                let kind = kind(&mut node);
                tree.add(Inode { metadata, kind })
            };
            ids.push(id);
            if let Body::Directory(entries) = node.body {
                directories.push(Named {
                    directory: id,
                    number: node.inode.number,
                    offset_bytes: node.inode.offset_bytes,
                    entries,
                });
            }
        }
        for named in directories {
            let names = named.names(|number| nodes.place(number).map(|place| ids[place]))?;
            tree.inode_mut(named.directory).kind = FileKind::Directory(names);
        }
        Ok(tree)
    }
}

fn check_root(node: &Node) -> Result<(), ReadError> {
    if node.inode.file_type == FileType::Directory {
        return Ok(());
    }
    let fault = Fault::Mode {
        mode: node.inode.file_type.bits() | node.inode.mode,
    };
    Err(Structure::Inode(node.inode.number).corrupt(node.inode.offset_bytes, fault))
}

impl Named {
    fn names(&self, id: impl Fn(u32) -> Option<InodeId>) -> Result<Directory, ReadError> {
        let corrupt = |fault| Structure::Directory(self.number).corrupt(self.offset_bytes, fault);
        let mut names = Directory::new();
        for entry in self.entries.iter().filter(|entry| !entry.is_dots()) {
            let id = id(entry.inode).expect("every name was followed");
            let name = Name::new(&entry.name).map_err(|error| corrupt(Fault::Name(error)))?;
            names.insert(name, id);
        }
        Ok(names)
    }
}

fn metadata(node: &mut Node) -> Metadata {
    Metadata {
        mode: node.inode.mode,
        uid: node.inode.uid,
        gid: node.inode.gid,
        mtime: node.inode.mtime,
        xattrs: std::mem::take(&mut node.xattrs),
    }
}

/// Returns the kind of an inode; a directory is still empty.
fn kind(node: &mut Node) -> FileKind<FileData> {
    let size_bytes = node.inode.size_bytes;
    match (&mut node.body, node.inode.file_type) {
        (Body::Mapped, _) => FileKind::Regular(FileData {
            size_bytes,
            extents: std::mem::take(&mut node.mapping.extents),
            inline: None,
        }),
        (Body::Inline(content), _) => FileKind::Regular(FileData {
            size_bytes,
            extents: Vec::new(),
            inline: Some(std::mem::take(content).into()),
        }),
        (Body::Symlink(target), _) => FileKind::Symlink(std::mem::take(target).into()),
        (Body::Directory(_), _) => FileKind::Directory(Directory::new()),
        (Body::None, FileType::CharDevice) => FileKind::CharDevice(node.inode.device()),
        (Body::None, FileType::BlockDevice) => FileKind::BlockDevice(node.inode.device()),
        (Body::None, FileType::Socket) => FileKind::Socket,
        (Body::None, _) => FileKind::Fifo,
    }
}
