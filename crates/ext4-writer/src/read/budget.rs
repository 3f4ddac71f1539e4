use super::{Fault, ReadError, Structure};

/// Memory for what is kept of an image, unless [`Image::open_within`](super::Image::open_within)
/// sets another limit, in bytes. It holds about 600,000 files.
pub const METADATA_MAX_BYTES: u64 = 256 << 20;

/// Approximate memory of one allocation beside its content, in bytes.
pub(crate) const ALLOCATION_BYTES: u64 = 16;

/// Resources that may still be used to read an image.
///
/// A valid image uses each of its blocks once, so reading its maps ends when the blocks are used up.
/// Blocks that are named again and again multiply what is kept in memory, which has a limit that
/// does not depend on the image.
#[derive(Debug)]
pub(crate) struct Budget {
    blocks: u64,
    memory: Memory,
}

/// Memory that may still be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    left_bytes: u64,
    limit_bytes: u64,
}

impl Memory {
    pub(crate) const fn new(limit_bytes: u64) -> Self {
        Self {
            left_bytes: limit_bytes,
            limit_bytes,
        }
    }

    /// Takes `bytes` for something that is kept.
    pub(crate) fn keep(&mut self, bytes: u64) -> Result<(), ReadError> {
        match self.left_bytes.checked_sub(bytes) {
            Some(left) => self.left_bytes = left,
            None => {
                return Err(ReadError::Memory {
                    limit_bytes: self.limit_bytes,
                });
            }
        }
        Ok(())
    }
}

impl Budget {
    pub(crate) const fn new(blocks: u64, memory: Memory) -> Self {
        Self { blocks, memory }
    }

    /// Takes `blocks` for `structure`, which is described at `offset_bytes`.
    pub(crate) fn take(
        &mut self,
        blocks: u64,
        structure: Structure,
        offset_bytes: u64,
    ) -> Result<(), ReadError> {
        match self.blocks.checked_sub(blocks) {
            Some(left) => self.blocks = left,
            None => return Err(structure.corrupt(offset_bytes, Fault::TooManyBlocks)),
        }
        Ok(())
    }

    /// Takes the memory of something that is kept.
    pub(crate) fn keep(&mut self, bytes: u64) -> Result<(), ReadError> {
        self.memory.keep(bytes)
    }

    /// Returns the memory that is left.
    pub(crate) const fn into_memory(self) -> Memory {
        self.memory
    }
}

/// Returns the memory of values of a type, in bytes.
pub(crate) fn memory_of<T>(count: usize) -> u64 {
    u64::try_from(size_of::<T>().saturating_mul(count)).unwrap_or(u64::MAX)
}
