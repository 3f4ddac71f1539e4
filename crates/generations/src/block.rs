/// The unit of the map, in bytes: a block lies in one generation as a whole.
pub const BLOCK_BYTES: u64 = 4096;
/// The greatest size of a disk, in bytes: block numbers have 32 bits in the files.
pub const SIZE_MAX_BYTES: u64 = 16 << 40;
/// The size of a disk is a multiple of this, in bytes.
pub const SECTOR_BYTES: u64 = 512;
/// Most generations of a disk, its head included: the map has 16 bits for each block.
pub const GENERATIONS_MAX: usize = 65_535;

/// Consecutive blocks of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// The number of the first block.
    pub(crate) first: u64,
    /// The number of blocks.
    pub(crate) count: u64,
}

impl Run {
    pub(crate) const fn new(first: u64, count: u64) -> Self {
        Self { first, count }
    }

    pub(crate) const fn from_bounds(first: u64, end: u64) -> Self {
        Self::new(first, end.saturating_sub(first))
    }

    /// Returns the number of the block after the last.
    pub(crate) const fn end(self) -> u64 {
        self.first + self.count
    }

    /// Returns the offset of the first block, in bytes.
    pub(crate) const fn offset_bytes(self) -> u64 {
        self.first * BLOCK_BYTES
    }

    /// Returns the length of the blocks, in bytes.
    pub(crate) const fn length_bytes(self) -> u64 {
        self.count * BLOCK_BYTES
    }

    /// Returns the whole blocks within a range of bytes.
    pub(crate) const fn whole_blocks(offset_bytes: u64, end_bytes: u64) -> Self {
        Self::from_bounds(offset_bytes.div_ceil(BLOCK_BYTES), end_bytes / BLOCK_BYTES)
    }

    /// Returns the parts of the run that lie in one chunk of `chunk_blocks` each.
    pub(crate) fn chunks(self, chunk_blocks: u64) -> impl Iterator<Item = Self> {
        let mut first = self.first;
        std::iter::from_fn(move || {
            let end = ((first / chunk_blocks + 1) * chunk_blocks).min(self.end());
            let part = (first < self.end()).then(|| Self::from_bounds(first, end));
            first = end;
            part
        })
    }
}

/// Returns the number of blocks that hold `size_bytes`.
pub(crate) const fn blocks_of(size_bytes: u64) -> u64 {
    size_bytes.div_ceil(BLOCK_BYTES)
}

/// Returns the run of all blocks of a disk; none if it has no bytes.
pub(crate) fn whole(size_bytes: u64) -> Vec<Run> {
    let run = Run::new(0, blocks_of(size_bytes));
    (run.count > 0).then_some(run).into_iter().collect()
}

/// Returns a length that was bounded by that of a buffer in memory.
pub(crate) fn in_memory(length: u64) -> usize {
    usize::try_from(length).expect("the length was bounded by that of a buffer")
}

/// Returns the length of a buffer in memory.
pub(crate) fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("memory is shorter than 2^64 bytes")
}
