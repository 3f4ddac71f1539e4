/// What one layer may cost. Beyond any of these the layer is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one PAX header, GNU long name or sparse map (Go's `archive/tar` has 1 MiB too).
    pub record_bytes: u64,
    /// Bytes of one path or link target.
    pub path_bytes: usize,
    /// Names in the layer, implied directories and markers among them.
    pub entries: u64,
    /// Bytes of one file's xattrs, names and values together.
    pub xattr_bytes: usize,
    /// Data segments of one sparse file.
    pub sparse_segments: usize,
    /// Bytes of names, link targets, xattrs and segments of the whole layer.
    pub metadata_bytes: u64,
    /// Bytes behind the two zero blocks that end the archive.
    pub trailing_bytes: u64,
    /// Notes that are kept; further ones are not.
    pub notes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            record_bytes: 1 << 20,
            path_bytes: 16 << 10,
            entries: 8_000_000,
            xattr_bytes: 256 << 10,
            sparse_segments: 1 << 17,
            metadata_bytes: 1 << 30,
            trailing_bytes: 64 << 20,
            notes: 1_000,
        }
    }
}
