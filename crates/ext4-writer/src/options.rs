/// Smallest image, in bytes: in a smaller one the journal leaves no room.
pub const SIZE_MIN_BYTES: u64 = 16 << 20;
/// Largest image, in bytes: 2^32 blocks.
pub const SIZE_MAX_BYTES: u64 = 16 << 40;

/// Options of a new image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Size of the disk in bytes, from [`SIZE_MIN_BYTES`] to [`SIZE_MAX_BYTES`]. A remainder that
    /// does not fill a block of 4 KiB, or that makes a last group too small to be of use, stays
    /// unused.
    pub size_bytes: u64,
    /// `s_uuid`, the seed of all checksums but the superblock's.
    pub uuid: [u8; 16],
    /// `s_hash_seed`, which keeps directory hashes unpredictable.
    pub hash_seed: [u8; 16],
    /// `s_volume_name`, at most 16 bytes.
    pub label: String,
    /// Size of the journal in bytes. The default is that of mke2fs, but at most 64 MiB.
    pub journal_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size_bytes: 4 << 30,
            uuid: [0; 16],
            hash_seed: [0; 16],
            label: String::new(),
            journal_bytes: None,
        }
    }
}
