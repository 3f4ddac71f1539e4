use super::budget::Budget;
use super::inode::DiskInode;
use super::{Fault, Image, ReadAt, ReadError, Structure, extent_tree, indirect};

/// Size and location of a regular file's content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileData {
    /// Size of the file, in bytes.
    pub size_bytes: u64,
    /// Extents in the order of the file. Blocks that no extent covers are holes. Extents may lie
    /// past the file's end.
    pub extents: Vec<Extent>,
    /// Content that is stored in the inode; there are no extents then.
    pub inline: Option<Box<[u8]>>,
}

/// Consecutive blocks of a file that are also consecutive in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First block, counted from the file's start.
    pub file_block: u64,
    /// Number of blocks in the extent.
    pub blocks: u64,
    /// First block, counted from the image's start.
    pub start_block: u64,
    /// True if the blocks hold content; false if they are allocated and read as zeros.
    pub is_written: bool,
}

/// All blocks that belong to an inode.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    pub(crate) extents: Vec<Extent>,
    /// Blocks of the map itself: nodes of the extent tree, or blocks of addresses.
    pub(crate) tree_blocks: Vec<u64>,
}

impl Mapping {
    /// Returns the location of a block of the file, as a block of the image; `None` if it reads as
    /// zeros.
    pub(crate) fn locate(&self, file_block: u64) -> Option<u64> {
        let next = self
            .extents
            .partition_point(|extent| extent.file_block <= file_block);
        let extent = self.extents.get(next.checked_sub(1)?)?;
        let skip = file_block - extent.file_block;
        (extent.is_written && skip < extent.blocks).then(|| extent.start_block + skip)
    }
}

impl Mapping {
    /// Returns a block of the image that is in two places of the file; `None` if no block is.
    pub(crate) fn repeated_block(&self) -> Option<u64> {
        let mut runs: Vec<(u64, u64)> = self
            .extents
            .iter()
            .map(|extent| (extent.start_block, extent.blocks))
            .collect();
        runs.sort_unstable();
        let mut pairs = runs.windows(2);
        let repeated = pairs.find(|pair| pair[0].0 + pair[0].1 > pair[1].0);
        repeated.map(|pair| pair[1].0)
    }
}

impl<R: ReadAt> Image<R> {
    /// Reads the map of an inode that has one.
    pub(crate) fn mapping(
        &self,
        inode: &DiskInode,
        budget: &mut Budget,
    ) -> Result<Mapping, ReadError> {
        if inode.has_extents() {
            extent_tree::read(self, inode, budget)
        } else {
            indirect::read(self, inode, budget)
        }
    }

    /// Takes the blocks that `structure` claims from the budget, and checks that they are in the
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
