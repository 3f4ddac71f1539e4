/// A range of a regular file that holds data. The ranges between segments are holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First byte of the segment within the file.
    pub offset_bytes: u64,
    /// Length of the segment in bytes, at least 1.
    pub length_bytes: u64,
}

impl Segment {
    /// Returns the segments of a file of `size_bytes` without holes: one, or none if it is empty.
    #[must_use]
    pub fn whole_file(size_bytes: u64) -> Vec<Self> {
        let whole = Self {
            offset_bytes: 0,
            length_bytes: size_bytes,
        };
        (size_bytes > 0).then_some(whole).into_iter().collect()
    }
}
