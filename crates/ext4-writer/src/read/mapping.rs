use super::budget::Budget;
use super::inode::DiskInode;
use super::{Fault, Image, ReadAt, ReadError, Structure, extent_tree, indirect};

/// What a regular file holds, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileData {
    /// The file's size.
    pub size_bytes: u64,
    /// Where its blocks lie, in the order of the file. What none covers is a hole. Some may lie past
    /// the file's end.
    pub extents: Vec<Extent>,
    /// The content itself, where it lies in the inode; there are no extents then.
    pub inline: Option<Box<[u8]>>,
}

/// Blocks of a file that lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its first block, counted from the file's start.
    pub file_block: u64,
    /// How many there are.
    pub blocks: u64,
    /// The first one's place in the image.
    pub start_block: u64,
    /// They hold content; else they are allocated and read as zeros.
    pub is_written: bool,
}

/// All blocks of an inode.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    pub(crate) extents: Vec<Extent>,
    /// Blocks of the map itself.
    pub(crate) tree_blocks: Vec<u64>,
}

impl Mapping {
    /// Where a block of the file lies; `None` in a hole.
    pub(crate) fn locate(&self, file_block: u64) -> Option<u64> {
        let next = self
            .extents
            .partition_point(|extent| extent.file_block <= file_block);
        let extent = self.extents.get(next.checked_sub(1)?)?;
        let skip = file_block - extent.file_block;
        (extent.is_written && skip < extent.blocks).then(|| extent.start_block + skip)
    }
}

impl<R: ReadAt> Image<R> {
    /// Follows the map of an inode that has one.
    pub(crate) fn mapping(
        &self,
        inode: &DiskInode,
        budget: &mut Budget,
    ) -> Result<Mapping, ReadError> {
        match inode.has_extents() {
            true => extent_tree::read(self, inode, budget),
            false => indirect::read(self, inode, budget),
        }
    }

    /// Takes blocks that `structure` claims from the budget, and checks that they are in the
    /// filesystem.
    pub(crate) fn claim(
        &self,
        (start_block, blocks): (u64, u64),
        structure: Structure,
        offset_bytes: u64,
        budget: &mut Budget,
    ) -> Result<(), ReadError> {
        if !self.layout.holds(start_block, blocks) {
            let fault = Fault::Blocks {
                start_block,
                end_block: start_block.saturating_add(blocks),
            };
            return Err(structure.corrupt(offset_bytes, fault));
        }
        budget.take(blocks, structure, offset_bytes)
    }
}
