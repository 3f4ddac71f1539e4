use crate::format::{BLOCK_BYTES, SUPERBLOCK_OFFSET};

/// The checksum of a superblock: crc32c of the rest of its block with the checksum's own field
/// zero, started at all ones and not inverted at the end. `head` is the image's first block or
/// more.
pub(crate) fn superblock_checksum(head: &[u8]) -> u32 {
    let before = &head[SUPERBLOCK_OFFSET..SUPERBLOCK_OFFSET + 4];
    let after = &head[SUPERBLOCK_OFFSET + 8..BLOCK_BYTES];
    let crc = crc32c::crc32c(before);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    !crc32c::crc32c_append(crc, after)
}
