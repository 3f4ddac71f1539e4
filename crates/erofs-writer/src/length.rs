use crate::format::BLOCK_SIZE_BYTES;

/// How long bytes in memory are, as offsets in an image count.
pub(crate) trait Length {
    /// Bytes.
    fn length_bytes(&self) -> u64;
}

impl Length for [u8] {
    fn length_bytes(&self) -> u64 {
        u64::try_from(self.len()).expect("memory is shorter than 2^64 bytes")
    }
}

/// The blocks that `bytes` fill, the last of them perhaps in part.
pub(crate) const fn blocks_of(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_SIZE_BYTES)
}
