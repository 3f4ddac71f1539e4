/// The smallest image: below it a journal leaves no room.
pub const SIZE_MIN_BYTES: u64 = 16 << 20;
/// The largest image: 2^32 blocks.
pub const SIZE_MAX_BYTES: u64 = 16 << 40;

/// What an image is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Size of the disk, from [`SIZE_MIN_BYTES`] to [`SIZE_MAX_BYTES`]. What is left over after
    /// whole 4 KiB blocks, or makes a last group too small to be of use, stays unused.
    pub size_bytes: u64,
    /// `s_uuid`; every checksum starts from it.
    pub uuid: [u8; 16],
    /// `s_hash_seed`: keeps directory hashes unpredictable.
    pub hash_seed: [u8; 16],
    /// `s_volume_name`, at most 16 bytes.
    pub label: String,
    /// Size of the journal; by default as mke2fs chooses, 64 MiB at most.
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
