use std::ops::Range;

use fstree::{FileType, Xattrs};

use crate::FileData;
use crate::dirent::DirEntry;
use crate::inode::DiskInode;

/// One inode with all that belongs to it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) nid: u64,
    pub(crate) inode: DiskInode,
    pub(crate) file_type: FileType,
    pub(crate) xattrs: Xattrs,
    pub(crate) body: Body,
    pub(crate) spans: Spans,
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
    /// Where its data lies.
    Regular(FileData),
}

/// Where an inode's metadata lies, in bytes from the image's start. What is not there is empty.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// The inode itself.
    pub(crate) inode: Range<u64>,
    /// Its xattr area.
    pub(crate) xattrs: Range<u64>,
    /// The shared xattrs that it is the first to have.
    pub(crate) shared_xattrs: Vec<Range<u64>>,
    /// The end of its content, right behind it.
    pub(crate) tail: Range<u64>,
    /// Its content elsewhere, unless it is a regular file's.
    pub(crate) outside: Range<u64>,
    /// Its chunk map.
    pub(crate) chunk_map: Range<u64>,
}

impl Spans {
    /// Where the inode and its xattr area end.
    pub(crate) const fn end_of_head(&self) -> u64 {
        self.xattrs.end
    }
}
