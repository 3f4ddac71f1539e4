/// Returns the checksum of a superblock. It is the crc32c of the bytes from the superblock to the
/// end of the block, with the checksum's own field zero, an initial value of all ones, and no final
/// inversion. `covered` holds those bytes.
pub(crate) fn superblock_checksum(covered: &[u8]) -> u32 {
    let (before, rest) = covered.split_at(4);
    let crc = crc32c::crc32c(before);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    !crc32c::crc32c_append(crc, &rest[4..])
}
