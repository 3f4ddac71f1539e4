use fstree::Xattrs;

use super::dirent::DirEntry;
use super::inode::DiskInode;
use super::mapping::Mapping;

/// An inode with its xattrs, its map and its content.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) inode: DiskInode,
    pub(crate) xattrs: Xattrs,
    pub(crate) mapping: Mapping,
    pub(crate) body: Body,
}

/// Content of an inode, by type.
#[derive(Debug)]
pub(crate) enum Body {
    /// No content: the inode is a device, a FIFO or a socket.
    None,
    /// Entries of a directory, including `.` and `..`.
    Directory(Vec<DirEntry>),
    /// Target of a symlink.
    Symlink(Vec<u8>),
    /// Content in the blocks of the mapping.
    Mapped,
    /// Content that is stored in the inode.
    Inline(Vec<u8>),
}
