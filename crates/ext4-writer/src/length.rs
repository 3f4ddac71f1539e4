//! Lengths and indexes: 64 bits in an image, `usize` in memory.

/// Length of bytes in memory, in the type of the offsets in an image.
pub(crate) trait Length {
    /// Returns the length, in bytes.
    fn length_bytes(&self) -> u64;
}

impl Length for [u8] {
    fn length_bytes(&self) -> u64 {
        length(self.len())
    }
}

/// Returns a length or an index in memory, as offsets in an image count.
pub(crate) fn length(length: usize) -> u64 {
    u64::try_from(length).expect("memory is shorter than 2^64 bytes")
}

/// Returns the index in memory of what an image counts, for what memory is known to hold.
pub(crate) fn index_of(number: impl Into<u64>) -> usize {
    usize::try_from(number.into()).expect("memory holds it")
}
