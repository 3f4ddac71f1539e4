use zerocopy::IntoBytes as _;
use zerocopy::{U16, U32};

use crate::format::{BLOCK_BYTES, EXTENT_MAGIC, Extent, ExtentHeader, ExtentIndex};

/// Capacity of a node in an inode, in entries.
const IN_INODE_MAX: u16 = 4;
/// Capacity of a node in a block, in entries; a checksum follows them.
const IN_BLOCK_MAX: u16 = 340;
/// Offset of that checksum in a block, in bytes (`EXT4_EXTENT_TAIL_OFFSET`).
pub(crate) const TAIL_OFFSET: usize = 12 + 12 * 340;
const _: () = assert!(TAIL_OFFSET + 4 == BLOCK_BYTES);

/// Consecutive blocks of a file that are also consecutive in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) file_block: u64,
    pub(crate) start_block: u64,
    pub(crate) blocks: u64,
}

/// Extent tree of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtentTree {
    /// Root node, stored in `i_block`.
    pub(crate) i_block: [[u8; 4]; 15],
    /// Number of blocks, of content and of nodes.
    pub(crate) blocks: u64,
}

/// An extent, or an index entry of a node, with the first block of the file that it maps.
struct Entry {
    file_block: U32<zerocopy::LE>,
    bytes: [u8; 12],
}

/// Builds the extent tree of runs in ascending order. Each run lies within one group, so its length
/// fits `ee_len`. Nodes that do not fit the inode are passed to `put` without their checksums;
/// `put` returns the block of each.
pub(crate) fn tree<E>(
    runs: &[Run],
    mut put: impl FnMut(Vec<u8>) -> Result<u64, E>,
) -> Result<ExtentTree, E> {
    let mut blocks = runs.iter().map(|run| run.blocks).sum();
    let mut entries: Vec<Entry> = runs.iter().map(extent).collect();
    let mut depth = 0;
    while entries.len() > usize::from(IN_INODE_MAX) {
        let mut above = Vec::new();
        for below in entries.chunks(usize::from(IN_BLOCK_MAX)) {
            let mut bytes = node(below, depth, IN_BLOCK_MAX);
            bytes.resize(BLOCK_BYTES, 0);
            above.push(index(below[0].file_block, put(bytes)?));
            blocks += 1;
        }
        entries = above;
        depth += 1;
    }
    let root = node(&entries, depth, IN_INODE_MAX);
    let mut i_block = [[0; 4]; 15];
    i_block.as_mut_bytes()[..root.len()].copy_from_slice(&root);
    Ok(ExtentTree { i_block, blocks })
}

fn node(entries: &[Entry], depth: u16, entries_max: u16) -> Vec<u8> {
    let header = ExtentHeader {
        eh_magic: U16::new(EXTENT_MAGIC),
        eh_entries: U16::new(u16::try_from(entries.len()).expect("at most 340")),
        eh_max: U16::new(entries_max),
        eh_depth: U16::new(depth),
        eh_generation: U32::new(0),
    };
    let mut bytes = header.as_bytes().to_vec();
    for entry in entries {
        bytes.extend_from_slice(&entry.bytes);
    }
    bytes
}

fn extent(run: &Run) -> Entry {
    let file_block = u32::try_from(run.file_block).expect("a file has at most 2^32 blocks");
    let (start_lo, start_hi) = block_halves(run.start_block);
    let extent = Extent {
        ee_block: U32::new(file_block),
        ee_len: U16::new(u16::try_from(run.blocks).expect("a group has 32768 blocks")),
        ee_start_hi: start_hi,
        ee_start_lo: start_lo,
    };
    Entry {
        file_block: extent.ee_block,
        bytes: zerocopy::transmute!(extent),
    }
}

fn index(file_block: U32<zerocopy::LE>, block: u64) -> Entry {
    let (ei_leaf_lo, ei_leaf_hi) = block_halves(block);
    let index = ExtentIndex {
        ei_block: file_block,
        ei_leaf_lo,
        ei_leaf_hi,
        ei_unused: U16::new(0),
    };
    Entry {
        file_block,
        bytes: zerocopy::transmute!(index),
    }
}

fn block_halves(block: u64) -> (U32<zerocopy::LE>, U16<zerocopy::LE>) {
    let low = u32::try_from(block & u64::from(u32::MAX)).expect("masked");
    let high = u16::try_from(block >> 32).expect("at most 2^32 blocks");
    (U32::new(low), U16::new(high))
}
