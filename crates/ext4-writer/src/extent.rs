use zerocopy::IntoBytes as _;
use zerocopy::{U16, U32};

use crate::InvalidInode;
use crate::format::{EXTENT_MAGIC, Extent, ExtentHeader};

/// The most extents within an inode.
const IN_INODE_MAX: usize = 4;

/// Blocks of a file that lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) file_block: u64,
    pub(crate) start_block: u64,
    pub(crate) blocks: u64,
}

/// `i_block` with these runs. A run lies within one group, so its length always fits.
pub(crate) fn encode(runs: &[Run]) -> Result<[[u8; 4]; 15], InvalidInode> {
    if runs.len() > IN_INODE_MAX {
        return Err(InvalidInode::Extents {
            extents: runs.len(),
        });
    }
    let header = ExtentHeader {
        eh_magic: U16::new(EXTENT_MAGIC),
        eh_entries: U16::new(u16::try_from(runs.len()).expect("at most four")),
        eh_max: U16::new(4),
        eh_depth: U16::new(0),
        eh_generation: U32::new(0),
    };
    let mut bytes = header.as_bytes().to_vec();
    for run in runs {
        bytes.extend_from_slice(extent(run).as_bytes());
    }
    let mut i_block = [[0; 4]; 15];
    i_block.as_mut_bytes()[..bytes.len()].copy_from_slice(&bytes);
    Ok(i_block)
}

fn extent(run: &Run) -> Extent {
    let narrow = |value: u64| u32::try_from(value).expect("a file in memory is small");
    let start_low = u32::try_from(run.start_block & u64::from(u32::MAX)).expect("masked");
    Extent {
        ee_block: U32::new(narrow(run.file_block)),
        ee_len: U16::new(u16::try_from(run.blocks).expect("a group has 32768 blocks")),
        ee_start_hi: U16::new(u16::try_from(run.start_block >> 32).expect("at most 2^32 blocks")),
        ee_start_lo: U32::new(start_low),
    }
}
