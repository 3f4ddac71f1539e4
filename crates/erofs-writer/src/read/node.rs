use std::ops::Range;

use fstree::{FileType, Xattrs};

use crate::FileData;
use crate::dirent::DirEntry;
use crate::inode::DiskInode;

/// One inode with its attributes, its content and their locations.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) nid: u64,
    pub(crate) inode: DiskInode,
    pub(crate) file_type: FileType,
    pub(crate) xattrs: Xattrs,
    pub(crate) body: Body,
    pub(crate) spans: Spans,
}

/// The content of an inode, by type.
#[derive(Debug)]
pub(crate) enum Body {
    /// No content: a device, a FIFO or a socket.
    None,
    /// A directory's entries, including `.` and `..`.
    Directory(Vec<DirEntry>),
    /// A symbolic link's target.
    Symlink(Vec<u8>),
    /// The location of a regular file's data.
    Regular(FileData),
}

/// The location of an inode's metadata, in bytes from the image's start. Absent parts are empty.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// The bytes of the inode itself.
    pub(crate) inode: Range<u64>,
    /// The inode's xattr area.
    pub(crate) xattrs: Range<u64>,
    /// The shared xattrs that this inode is the first to refer to.
    pub(crate) shared_xattrs: Vec<Range<u64>>,
    /// The end of the inode's content, right behind the xattr area.
    pub(crate) tail: Range<u64>,
    /// The blocks of a directory's or a symbolic link's content.
    pub(crate) outside: Range<u64>,
    /// The inode's chunk map.
    pub(crate) chunk_map: Range<u64>,
}

impl Spans {
    /// Returns the end of the inode and its xattr area.
    pub(crate) const fn end_of_head(&self) -> u64 {
        self.xattrs.end
    }
}
