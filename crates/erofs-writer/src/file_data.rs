use std::num::NonZeroU64;

/// Where a regular file's content lies: its size, and the runs of blocks that hold it.
///
/// Extents are in ascending `file_block` order and do not overlap. A gap between them, or after
/// the last one, is a hole. The last block of the file is zero-padded on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileData {
    /// `st_size`, in bytes.
    pub size_bytes: u64,
    /// The runs that hold data.
    pub extents: Vec<Extent>,
    /// Where the content's last block lies when it lies behind the inode instead of in a block of
    /// its own: in bytes from the image's start. Other makers' images have this; the writer
    /// does not take it.
    pub inline_offset_bytes: Option<NonZeroU64>,
}

/// One contiguous run of blocks: of 4 KiB where this crate writes, of
/// [`Image::block_size_bytes`](crate::Image::block_size_bytes) where it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First block of the run within the file, in blocks.
    pub file_block: u64,
    /// Length of the run, in blocks, at least 1.
    pub blocks: u64,
    /// 0 for this image, n for the n-th slot of its device table.
    pub device: u16,
    /// First block of the run on that device, in blocks.
    pub start_block: u32,
}

impl Extent {
    /// Whether `next` goes on where this ends, in the file and on the same device.
    pub(crate) fn is_continued_by(&self, next: &Self) -> bool {
        self.device == next.device
            && self.file_block.checked_add(self.blocks) == Some(next.file_block)
            && u64::from(self.start_block).checked_add(self.blocks)
                == Some(u64::from(next.start_block))
    }
}
