use std::io;

use crate::checksum::{START, crc32c};
use crate::extent::{self, ExtentTree, Run, TAIL_OFFSET};
use crate::format::{BLOCK_BYTES, BLOCK_SIZE, INODE_BYTES};
use crate::geometry::Geometry;
use crate::inode::{self, Content};
use crate::length::{index_of, length};
use crate::space::Space;
use crate::{Options, SparseOutput, WriteError};

/// A block of an inode table that is being filled. An output that keeps whole blocks gets each once.
#[derive(Debug, Default)]
struct InodeBlock {
    offset_bytes: u64,
    /// Empty if no block is being filled.
    bytes: Vec<u8>,
}

impl InodeBlock {
    fn starting_at(offset_bytes: u64) -> Self {
        Self {
            offset_bytes,
            bytes: vec![0; BLOCK_BYTES],
        }
    }

    /// Adds an inode. Returns false if it belongs to another block.
    fn add(&mut self, inode: &[u8; INODE_BYTES], offset_bytes: u64) -> bool {
        let within = offset_bytes.checked_sub(self.offset_bytes).map(index_of);
        let room = within.and_then(|from| self.bytes.get_mut(from..from + INODE_BYTES));
        room.map(|room| room.copy_from_slice(inode)).is_some()
    }
}

/// The output with what every part of the writer needs: the blocks that are free and the seed of
/// the checksums.
pub(super) struct Emitter<'a, O> {
    pub(super) geometry: &'a Geometry,
    pub(super) space: Space,
    /// Checksum seed of the filesystem, computed from its UUID.
    pub(super) seed: u32,
    inodes: InodeBlock,
    output: O,
}

impl<'a, O: SparseOutput> Emitter<'a, O> {
    /// Returns an emitter for an output to which nothing has been written, with the blocks that are free.
    pub(super) fn new(geometry: &'a Geometry, space: Space, options: &Options, output: O) -> Self {
        Self {
            geometry,
            space,
            seed: crc32c(START, &options.uuid),
            inodes: InodeBlock::default(),
            output,
        }
    }

    /// Gives the output its final size.
    pub(super) fn set_len(&mut self, size_bytes: u64) -> Result<(), WriteError> {
        let io_error = |source| WriteError::Io {
            offset_bytes: size_bytes,
            source,
        };
        self.output.set_len(size_bytes).map_err(io_error)
    }

    /// Writes bytes at an offset.
    pub(super) fn put(&mut self, bytes: &[u8], offset_bytes: u64) -> Result<(), WriteError> {
        let io_error = |source: io::Error| WriteError::Io {
            offset_bytes,
            source,
        };
        self.output
            .write_all_at(bytes, offset_bytes)
            .map_err(io_error)
    }

    /// Builds the extent tree of an inode and writes the nodes that do not fit the inode.
    pub(super) fn extents(&mut self, runs: &[Run], number: u32) -> Result<ExtentTree, WriteError> {
        let seed = inode::seed(self.seed, number);
        extent::tree(runs, |mut node| {
            let taken = self.space.take(1)?;
            let block = taken.first().map_or(0, |run| run.start_block);
            let crc = crc32c(seed, &node[..TAIL_OFFSET]);
            node[TAIL_OFFSET..].copy_from_slice(&crc.to_le_bytes());
            self.put(&node, block * BLOCK_SIZE)?;
            Ok(block)
        })
    }

    /// Writes an inode into the table of its group. `path` names it in errors. The inodes of a block have to
    /// come one after the other: they are written together, at the latest by [`Emitter::end_inodes`].
    pub(super) fn put_inode(
        &mut self,
        number: u32,
        content: &Content<'_>,
        path: &[u8],
    ) -> Result<(), WriteError> {
        let seed = inode::seed(self.seed, number);
        let bytes = inode::encode(content, seed).map_err(WriteError::at(path))?;
        let index = u64::from((number - 1) % self.geometry.inodes_per_group);
        let table = self.geometry.inode_table(self.group_of(number)) * BLOCK_SIZE;
        let offset_bytes = table + index * length(INODE_BYTES);
        if !self.inodes.add(&bytes, offset_bytes) {
            self.end_inodes()?;
            self.inodes = InodeBlock::starting_at(offset_bytes / BLOCK_SIZE * BLOCK_SIZE);
            self.inodes.add(&bytes, offset_bytes);
        }
        Ok(())
    }

    /// Writes the inodes that are still in memory.
    pub(super) fn end_inodes(&mut self) -> Result<(), WriteError> {
        let block = std::mem::take(&mut self.inodes);
        if block.bytes.is_empty() {
            return Ok(());
        }
        self.put(&block.bytes, block.offset_bytes)
    }

    /// Returns the group of an inode.
    pub(super) fn group_of(&self, number: u32) -> u32 {
        (number - 1) / self.geometry.inodes_per_group
    }
}
