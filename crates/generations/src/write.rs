use crate::block::{BLOCK_BYTES, Run, blocks_of, in_memory, length_of};
use crate::disk::Disk;
use crate::error::{ReadError, WriteError};
use crate::storage::Storage;

/// A block of zeros.
static ZERO_BLOCK: [u8; 4096] = [0; 4096];

impl<S: Storage> Disk<S> {
    /// Writes bytes from `offset_bytes` on.
    ///
    /// A block that is written in part for the first time since the last cut is read first, so that
    /// the head has it as a whole.
    ///
    /// # Errors
    /// If the range ends beyond the disk, or the head cannot be written. Any part of the bytes may
    /// have been written then; other bytes are unchanged.
    pub fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> Result<(), WriteError> {
        self.check_change(offset_bytes, length_of(bytes))?;
        let (first, body, last) = self.split(bytes, offset_bytes);
        let body_at = offset_bytes + length_of(first);
        self.write_part(first, offset_bytes)?;
        if !body.is_empty() {
            let end_bytes = body_at + length_of(body);
            self.head.data.write(body, body_at)?;
            let blocks = Run::from_bounds(body_at / BLOCK_BYTES, blocks_of(end_bytes));
            self.head.record_write(&mut self.view.map, blocks);
        }
        self.write_part(last, body_at + length_of(body))
    }

    /// Makes a range read as zeros. Whole blocks cost an entry in the map and no write.
    ///
    /// # Errors
    /// Fails as [`Disk::write`] does.
    pub fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), WriteError> {
        self.check_change(offset_bytes, length_bytes)?;
        let end_bytes = offset_bytes + length_bytes;
        let whole = self.whole_blocks(offset_bytes, end_bytes);
        let first_end = end_bytes.min(whole.offset_bytes());
        self.zero_part(offset_bytes, first_end)?;
        self.head.record_zeros(&mut self.view.map, whole);
        let last_start = first_end.max(whole.offset_bytes() + whole.length_bytes());
        self.zero_part(last_start, end_bytes)
    }

    /// Tells that a range is not needed any more: its whole blocks read as zeros, other bytes are
    /// unchanged. The space is given back by [`Disk::reclaim`].
    ///
    /// # Errors
    /// If the range ends beyond the disk.
    pub fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), WriteError> {
        self.check_change(offset_bytes, length_bytes)?;
        let whole = self.whole_blocks(offset_bytes, offset_bytes + length_bytes);
        self.head.record_zeros(&mut self.view.map, whole);
        Ok(())
    }

    fn check_change(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), WriteError> {
        self.check_not_failed()?;
        Ok(self.view.check(offset_bytes, length_bytes)?)
    }

    /// Splits bytes to be written into a part of a block that the head lacks, bytes that can be
    /// written where they belong, and another such part.
    fn split<'a>(&self, bytes: &'a [u8], offset_bytes: u64) -> (&'a [u8], &'a [u8], &'a [u8]) {
        let lacks = |at_bytes: u64| {
            !at_bytes.is_multiple_of(BLOCK_BYTES)
                && !self.head.has(&self.view.map, at_bytes / BLOCK_BYTES)
        };
        let end_bytes = offset_bytes + length_of(bytes);
        let first_end = if lacks(offset_bytes) {
            offset_bytes.next_multiple_of(BLOCK_BYTES).min(end_bytes)
        } else {
            offset_bytes
        };
        let (first, rest) = bytes.split_at(in_memory(first_end - offset_bytes));
        let is_last_partial = !rest.is_empty() && lacks(end_bytes);
        let last_length = if is_last_partial {
            end_bytes % BLOCK_BYTES
        } else {
            0
        };
        let (body, last) = rest.split_at(rest.len() - in_memory(last_length));
        (first, body, last)
    }

    /// Writes a part of one block that the head does not have.
    fn write_part(&mut self, part: &[u8], offset_bytes: u64) -> Result<(), WriteError> {
        if part.is_empty() {
            return Ok(());
        }
        let run = Run::new(offset_bytes / BLOCK_BYTES, 1);
        let start_bytes = run.offset_bytes();
        let mut block = ZERO_BLOCK;
        let on_disk = in_memory(BLOCK_BYTES.min(self.view.size_bytes - start_bytes));
        let old = block.get_mut(..on_disk).unwrap_or_default();
        self.view
            .read(old, start_bytes)
            .map_err(|error| match error {
                ReadError::OutOfRange(error) => WriteError::OutOfRange(error),
                ReadError::Storage(error) => WriteError::Storage(error),
            })?;
        let start = in_memory(offset_bytes - start_bytes);
        if let Some(changed) = block.get_mut(start..start + part.len()) {
            changed.copy_from_slice(part);
        }
        self.head.data.write(&block, start_bytes)?;
        self.head.record_write(&mut self.view.map, run);
        Ok(())
    }

    /// Makes a part of one block zeros, unless the block has no other bytes.
    fn zero_part(&mut self, offset_bytes: u64, end_bytes: u64) -> Result<(), WriteError> {
        let length = in_memory(end_bytes.saturating_sub(offset_bytes));
        if length == 0 || self.view.map.slot(offset_bytes / BLOCK_BYTES) == crate::map::ZEROS {
            return Ok(());
        }
        self.write(ZERO_BLOCK.get(..length).unwrap_or_default(), offset_bytes)
    }

    /// Returns the blocks that lie in a range as far as they lie on the disk.
    fn whole_blocks(&self, offset_bytes: u64, end_bytes: u64) -> Run {
        let reaches_end = end_bytes == self.view.size_bytes;
        let end_bytes = if reaches_end {
            end_bytes.next_multiple_of(BLOCK_BYTES)
        } else {
            end_bytes
        };
        Run::whole_blocks(offset_bytes, end_bytes)
    }
}
