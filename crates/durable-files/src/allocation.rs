use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// Bytes per unit of `st_blocks`, regardless of the filesystem's block size (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// Returns the space that a file takes on the host's disk, in bytes: its allocation, not its size.
pub fn allocated_bytes(file: &Metadata) -> u64 {
    file.blocks().saturating_mul(STAT_BLOCK_BYTES)
}
