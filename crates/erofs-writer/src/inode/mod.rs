//! Inodes: their two forms, and how each records the location of its content.

mod chunks;
mod disk;
mod file_layout;

pub(crate) use chunks::ChunkMap;
pub(crate) use disk::{DiskInode, Form, device_from_number, device_number};
pub(crate) use file_layout::{FileLayout, Limits};

/// `EROFS_INODE_*`: the layout of an inode's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `EROFS_INODE_FLAT_PLAIN`: one run of blocks.
    FlatPlain,
    /// `EROFS_INODE_FLAT_INLINE`: one run of whole blocks; the rest follows the inode.
    FlatInline,
    /// `EROFS_INODE_CHUNK_BASED`: a map of chunks that follows the inode.
    ChunkBased,
    /// Another code: 1 and 3 are compressed layouts, the rest is undefined.
    Other(u16),
}

impl Layout {
    /// Returns the code in bits 1 to 3 of `i_format`.
    pub(crate) const fn code(self) -> u16 {
        match self {
            Self::FlatPlain => 0,
            Self::FlatInline => 2,
            Self::ChunkBased => 4,
            Self::Other(code) => code,
        }
    }

    /// Returns the layout for a code in bits 1 to 3 of `i_format`.
    pub(crate) const fn from_code(code: u16) -> Self {
        match code {
            0 => Self::FlatPlain,
            2 => Self::FlatInline,
            4 => Self::ChunkBased,
            other => Self::Other(other),
        }
    }
}
