use fstree::{Device, Metadata, Segment};

/// One entry of an archive, with everything its extended headers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Offset of the entry's header in the archive, in bytes. Extended headers come before it.
    pub offset_bytes: u64,
    /// The type of the file, with its device number if it has one.
    pub kind: EntryKind,
    /// The path, as spelled in the archive.
    pub path: Vec<u8>,
    /// The target of a symlink or hard link, as spelled in the archive.
    pub link: Vec<u8>,
    /// Permissions, owner, time and all xattrs.
    pub metadata: Metadata,
    /// A regular file's size in bytes, including holes; 0 for every other type.
    pub size_bytes: u64,
    /// The data of a regular file, in ascending order. The archive holds these bytes only.
    pub segments: Vec<Segment>,
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file, written as type `0`.
    Regular,
    /// A directory, written as type `5`.
    Directory,
    /// A symbolic link, written as type `2`.
    Symlink,
    /// Another name of an earlier entry's file, written as type `1`.
    Hardlink,
    /// A character device, written as type `3`, with its number.
    CharDevice(Device),
    /// A block device, written as type `4`, with its number.
    BlockDevice(Device),
    /// A named pipe, written as type `6`.
    Fifo,
}

/// The header of an entry that is to be written: everything but its content.
#[derive(Debug, Clone, Copy)]
pub struct EntryHeader<'a> {
    /// The entry's path, with `/` between the components.
    pub path: &'a [u8],
    /// The type of the file, with its device number if it has one.
    pub kind: EntryKind,
    /// A symlink's target, or the path of the earlier entry that a hard link refers to.
    pub link: &'a [u8],
    /// Permissions, owner, time and xattrs.
    pub metadata: &'a Metadata,
}
