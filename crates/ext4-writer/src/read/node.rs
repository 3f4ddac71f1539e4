use fstree::Xattrs;

use super::dirent::DirEntry;
use super::inode::DiskInode;
use super::mapping::Mapping;

/// One inode with all that belongs to it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) inode: DiskInode,
    pub(crate) xattrs: Xattrs,
    pub(crate) mapping: Mapping,
    pub(crate) body: Body,
}

/// What an inode holds.
#[derive(Debug)]
pub(crate) enum Body {
    /// Nothing but what the inode says.
    None,
    /// Names, `.` and `..` among them.
    Directory(Vec<DirEntry>),
    /// A target.
    Symlink(Vec<u8>),
    /// Content that the mapping maps.
    Mapped,
    /// Content that lies in the inode.
    Inline(Vec<u8>),
}
