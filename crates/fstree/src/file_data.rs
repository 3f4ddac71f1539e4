use std::num::NonZeroU64;

/// Bytes of a block in an image that is written from a tree.
pub const BLOCK_SIZE_BYTES: u64 = 4096;

/// The content of a regular file in an image: a size, and the runs of blocks that hold it.
///
/// Extents are in ascending `file_block` order and do not overlap. A gap between them, or after
/// the last one, is a hole. The last block of the file is zero-padded on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileData {
    /// Size of the file in bytes, `st_size`.
    pub size_bytes: u64,
    /// The runs of blocks that hold data.
    pub extents: Vec<Extent>,
    /// Offset of the content's last block, in bytes from the image's start. It is set if that block
    /// is stored beside the inode instead of in a block of its own. Images of other makers have it;
    /// in a tree that is to be written it is `None`.
    pub inline_offset_bytes: Option<NonZeroU64>,
}

/// One contiguous run of blocks of a file. A block has [`BLOCK_SIZE_BYTES`] in a tree that is
/// written, and the image's own block size in a tree that is read from an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First block of the run within the file, in blocks.
    pub file_block: u64,
    /// Length of the run, in blocks, at least 1.
    pub blocks: u64,
    /// The device: 0 for the image itself, n for its n-th other device.
    pub device: u16,
    /// First block of the run on that device, in blocks.
    pub start_block: u32,
}

/// One contiguous run of blocks of [`BLOCK_SIZE_BYTES`] in the image that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First block of the run, in blocks from the image's start.
    pub start_block: u32,
    /// Length of the run, in blocks.
    pub blocks: u64,
}

impl Extent {
    /// Returns true if `next` continues this extent, both in the file and on the same device.
    #[must_use]
    pub fn is_continued_by(&self, next: &Self) -> bool {
        self.device == next.device
            && self.file_block.checked_add(self.blocks) == Some(next.file_block)
            && u64::from(self.start_block).checked_add(self.blocks)
                == Some(u64::from(next.start_block))
    }
}

impl Run {
    /// Returns the extent that places this run at `file_block` of a file.
    #[must_use]
    pub const fn at(self, file_block: u64) -> Extent {
        Extent {
            file_block,
            blocks: self.blocks,
            device: 0,
            start_block: self.start_block,
        }
    }

    /// Returns the content of a file of `size_bytes` that lies in this run completely.
    #[must_use]
    pub fn whole_file(self, size_bytes: u64) -> FileData {
        FileData {
            size_bytes,
            extents: vec![self.at(0)],
            inline_offset_bytes: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_continues_in_the_file_and_on_its_device() {
        let first = Run {
            start_block: 10,
            blocks: 2,
        }
        .at(0);
        let next = Run {
            start_block: 12,
            blocks: 1,
        };
        assert!(first.is_continued_by(&next.at(2)));
        assert!(!first.is_continued_by(&next.at(3)));
        let elsewhere = Extent {
            device: 1,
            ..next.at(2)
        };
        assert!(!first.is_continued_by(&elsewhere));
    }
}
