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
