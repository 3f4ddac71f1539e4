use zerocopy::little_endian::{U16, U32};

use crate::Extent;
use crate::error::InvalidInode;
use crate::format::{
    CHUNK_FORMAT_BLKBITS_MASK, CHUNK_FORMAT_INDEXES, CHUNKS_MAX, ChunkIndex, NULL_ADDRESS,
};

/// A file as chunks of equal size, each of which is contiguous on its device or a hole.
#[derive(Debug, Clone)]
pub(crate) struct ChunkMap {
    extents: Vec<Extent>,
    chunks: u64,
    block_bits: u32,
}

impl ChunkMap {
    /// Returns the map with the largest chunks that the extents' bounds allow. The extents must
    /// have been checked.
    pub(crate) fn plan(extents: Vec<Extent>, file_blocks: u64) -> Result<Self, InvalidInode> {
        let whole_file_bits = file_blocks.next_power_of_two().trailing_zeros();
        let block_bits = extents
            .iter()
            .flat_map(|extent| [extent.file_block, extent.file_block + extent.blocks])
            .filter(|&bound| bound != file_blocks)
            .map(u64::trailing_zeros)
            .fold(whole_file_bits, u32::min)
            .min(u32::from(CHUNK_FORMAT_BLKBITS_MASK));
        let chunks = file_blocks.div_ceil(1 << block_bits);
        if chunks > CHUNKS_MAX {
            return Err(InvalidInode::TooManyChunks { chunks });
        }
        Ok(Self {
            extents,
            chunks,
            block_bits,
        })
    }

    /// Returns the value of `i_u`: the chunk format.
    pub(crate) fn format(&self) -> u32 {
        u32::from(CHUNK_FORMAT_INDEXES) | self.block_bits
    }

    /// Returns one entry for each chunk, in the order of the file.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = ChunkIndex> {
        let mut extents = self.extents.iter().peekable();
        (0..self.chunks).map(move |chunk| {
            let file_block = chunk << self.block_bits;
            while extents
                .next_if(|extent| extent.file_block + extent.blocks <= file_block)
                .is_some()
            {}
            match extents.peek() {
                Some(extent) if extent.file_block <= file_block => index(extent, file_block),
                _ => HOLE,
            }
        })
    }
}

const HOLE: ChunkIndex = ChunkIndex {
    advise: U16::ZERO,
    device_id: U16::ZERO,
    blkaddr: U32::from_bytes(NULL_ADDRESS.to_le_bytes()),
};

fn index(extent: &Extent, file_block: u64) -> ChunkIndex {
    let address = u64::from(extent.start_block) + (file_block - extent.file_block);
    ChunkIndex {
        advise: U16::ZERO,
        device_id: U16::new(extent.device),
        blkaddr: U32::new(u32::try_from(address).expect("an extent lies on its device")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(file_block: u64, blocks: u64, start_block: u32) -> Extent {
        Extent {
            file_block,
            blocks,
            device: 0,
            start_block,
        }
    }

    fn addresses(extents: Vec<Extent>, file_blocks: u64) -> (u32, Vec<u32>) {
        let map = ChunkMap::plan(extents, file_blocks).expect("few chunks");
        let addresses = map.indexes().map(|index| index.blkaddr.get()).collect();
        (map.block_bits, addresses)
    }

    #[test]
    fn chunks_are_as_large_as_the_bounds_allow() {
        const NONE: u32 = NULL_ADDRESS;
        let whole_hole = addresses(vec![], 5);
        assert_eq!(whole_hole, (3, vec![NONE]));
        let hole_first = addresses(vec![extent(4, 3, 10)], 7);
        assert_eq!(hole_first, (2, vec![NONE, 10]));
        let hole_last = addresses(vec![extent(0, 2, 10)], 7);
        assert_eq!(hole_last, (1, vec![10, NONE, NONE, NONE]));
        let odd = addresses(vec![extent(1, 1, 10), extent(2, 2, 20)], 4);
        assert_eq!(odd, (0, vec![NONE, 10, 20, 21]));
    }

    #[test]
    fn a_map_has_a_limit() {
        let error = ChunkMap::plan(vec![extent(1, 1, 1)], CHUNKS_MAX + 1).expect_err("too many");
        assert!(matches!(error, InvalidInode::TooManyChunks { .. }));
    }
}
