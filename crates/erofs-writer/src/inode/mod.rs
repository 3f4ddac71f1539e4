//! Inodes: their two forms, and how each says where content lies.

mod chunks;
mod disk;
mod file_layout;

pub(crate) use chunks::{CHUNKS_MAX, ChunkMap};
pub(crate) use disk::{DiskInode, Form, device_from_number, device_number};
pub(crate) use file_layout::{FileLayout, Limits};

/// `EROFS_INODE_*`: how an inode's content is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `EROFS_INODE_FLAT_PLAIN`: one run of blocks.
    FlatPlain,
    /// `EROFS_INODE_FLAT_INLINE`: one run of whole blocks, the rest behind the inode.
    FlatInline,
    /// `EROFS_INODE_CHUNK_BASED`: a map of chunks behind the inode.
    ChunkBased,
    /// 1 and 3 are compressed, the rest is not defined.
    Other(u16),
}

impl Layout {
    /// The code in bits 1 to 3 of `i_format`.
    pub(crate) const fn code(self) -> u16 {
        match self {
            Self::FlatPlain => 0,
            Self::FlatInline => 2,
            Self::ChunkBased => 4,
            Self::Other(code) => code,
        }
    }

    /// What a code means.
    pub(crate) const fn from_code(code: u16) -> Self {
        match code {
            0 => Self::FlatPlain,
            2 => Self::FlatInline,
            4 => Self::ChunkBased,
            other => Self::Other(other),
        }
    }
}
