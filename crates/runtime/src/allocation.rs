use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// Bytes of one of `st_blocks`, whatever the filesystem's own blocks are (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// What a file takes on the host's disk, in bytes: what was written, not its size.
pub(crate) fn allocated_bytes(file: &Metadata) -> u64 {
    file.blocks().saturating_mul(STAT_BLOCK_BYTES)
}
