use super::{Fault, ReadError, Structure};

/// Number of blocks that may still be claimed. A valid image uses each of its blocks once, so
/// reading its maps ends when the budget is used up.
#[derive(Debug)]
pub(crate) struct Budget {
    blocks: u64,
}

impl Budget {
    pub(crate) const fn new(blocks: u64) -> Self {
        Self { blocks }
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
}
