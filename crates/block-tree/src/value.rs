use blake3::Hasher;
use blake3::hazmat::HasherExt as _;

/// Length of a block in bytes: the smallest range that can be verified. The last block of a file may be shorter.
pub const BLOCK_BYTES: u64 = 4096;
/// Length of a group of 16 blocks, in bytes. The last group of a file may be shorter.
pub const GROUP_BYTES: u64 = GROUP_BLOCKS * BLOCK_BYTES;
/// Number of blocks in a group: a power of two, so that a group is a subtree.
pub(crate) const GROUP_BLOCKS: u64 = 16;

/// The length of a block and of a value in memory, in bytes.
pub(crate) const BLOCK_LENGTH: usize = 4096;
pub(crate) const VALUE_LENGTH: usize = 32;

/// The value of a part of a file: the chaining value of its subtree, or the checksum if the part is the whole file.
pub(crate) type Value = [u8; VALUE_LENGTH];

/// Length and checksum of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The length, in bytes.
    pub length_bytes: u64,
    /// The BLAKE3 checksum.
    pub blake3: [u8; 32],
}

/// Returns the value of the block or group that begins at `offset_bytes`. It has a byte, unless the file has none.
pub(crate) fn value(bytes: &[u8], offset_bytes: u64, is_whole: bool) -> Value {
    if is_whole {
        return blake3::hash(bytes).into();
    }
    let mut hasher = Hasher::new();
    hasher.set_input_offset(offset_bytes);
    hasher.update(bytes);
    hasher.finalize_non_root()
}

/// Returns the number of blocks of a file. An empty file has one, which is empty too.
pub(crate) const fn blocks_of(length_bytes: u64) -> u64 {
    match length_bytes.div_ceil(BLOCK_BYTES) {
        0 => 1,
        blocks => blocks,
    }
}

/// Returns the length of bytes in memory.
pub(crate) fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("memory is shorter than 2^64 bytes")
}

/// Returns a length or an index that is smaller than a value in memory.
pub(crate) fn in_memory(count: u64) -> usize {
    usize::try_from(count).expect("the number is below a number of bytes in memory")
}
