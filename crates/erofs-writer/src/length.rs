use crate::format::BLOCK_SIZE_BYTES;

/// The length of bytes in memory, as an offset in an image.
pub(crate) trait Length {
    /// Returns the length in bytes.
    fn length_bytes(&self) -> u64;
}

impl Length for [u8] {
    fn length_bytes(&self) -> u64 {
        u64::try_from(self.len()).expect("memory is shorter than 2^64 bytes")
    }
}

/// Returns the number of blocks that hold `bytes`, including a partly filled last one.
pub(crate) const fn blocks_of(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_SIZE_BYTES)
}
