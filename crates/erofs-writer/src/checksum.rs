/// The checksum of a superblock: crc32c of the bytes from the superblock on with the checksum's
/// own field zero, started at all ones and not inverted at the end. `covered` are those bytes, to
/// the end of the block.
pub(crate) fn superblock_checksum(covered: &[u8]) -> u32 {
    let (before, rest) = covered.split_at(4);
    let crc = crc32c::crc32c(before);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    !crc32c::crc32c_append(crc, &rest[4..])
}
