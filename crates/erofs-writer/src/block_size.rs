use crate::format::{BLOCK_BITS, SUPERBLOCK_OFFSET};

/// The block size of an image that is read. Images that this crate writes have
/// [`crate::BLOCK_SIZE_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockSize {
    bits: u8,
}

impl BlockSize {
    /// log2 of the smallest block in bytes: a sector of 512 bytes.
    const BITS_MIN: u8 = 9;

    /// Returns the block size for `blkszbits`. `None` below 512 bytes and above 4 KiB, the smallest
    /// page size of Linux, which a kernel on every machine can mount.
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        (Self::BITS_MIN..=BLOCK_BITS)
            .contains(&bits)
            .then_some(Self { bits })
    }

    /// Returns the bytes of a block.
    pub(crate) const fn bytes(self) -> u64 {
        1 << self.bits
    }

    /// Returns the bytes of a block, as a length in memory.
    pub(crate) const fn length(self) -> usize {
        1 << self.bits
    }

    /// Returns the start of a block, in bytes from its device's start.
    pub(crate) fn offset_bytes(self, block: u32) -> u64 {
        u64::from(block) << self.bits
    }

    /// Returns the number of blocks that hold `bytes`, including a partly filled last one.
    pub(crate) const fn blocks_of(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes())
    }

    /// Returns the part of `bytes` that lies in their last block. `bytes` must be at least 1.
    pub(crate) const fn last_block_bytes(self, bytes: u64) -> u64 {
        bytes - (self.blocks_of(bytes) - 1) * self.bytes()
    }

    /// Returns the number of bytes, from the superblock on, that its checksum covers. They are the
    /// rest of the superblock's block, or a whole block if the superblock starts one.
    pub(crate) const fn checksummed_bytes(self) -> usize {
        if self.length() > SUPERBLOCK_OFFSET {
            self.length() - SUPERBLOCK_OFFSET
        } else {
            self.length()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_a_sector_to_a_page() {
        let known = (0..=u8::MAX).filter(|&bits| BlockSize::from_bits(bits).is_some());
        assert!(known.eq(9..=12));
    }

    #[test]
    fn a_checksum_covers_a_block_or_its_rest() {
        let covered = [9, 10, 11, 12]
            .map(|bits| BlockSize::from_bits(bits).map(BlockSize::checksummed_bytes));
        assert_eq!(covered, [512, 1024, 1024, 3072].map(Some));
    }

    #[test]
    fn a_last_block_is_never_empty() {
        let size = BlockSize::from_bits(9).expect("a sector");
        assert_eq!(
            [1, 512, 513].map(|bytes| size.last_block_bytes(bytes)),
            [1, 512, 1]
        );
        assert_eq!([0, 512, 513].map(|bytes| size.blocks_of(bytes)), [0, 1, 2]);
    }
}
