use std::io::IoSlice;

use crate::block::{BLOCK_BYTES, Run, blocks_of, in_memory, length_of};
use crate::disk::Disk;
use crate::error::{ReadError, StorageError, WriteError};
use crate::map::ZEROS;
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
            self.head.write(body, body_at)?;
            self.record_body(body_at, length_of(body));
        }
        self.write_part(last, body_at + length_of(body))
    }

    /// Writes buffers, one after the other, from `offset_bytes` on: by one call of the host, unless the
    /// first or the last block is written in part and the head lacks it.
    ///
    /// # Errors
    /// Fails as [`Disk::write`] does.
    pub fn write_vectored(
        &mut self,
        buffers: &mut [IoSlice<'_>],
        mut offset_bytes: u64,
    ) -> Result<(), WriteError> {
        let lengths = buffers.iter().map(|buffer| length_of(buffer));
        let length_bytes = lengths.fold(0, u64::saturating_add);
        self.check_change(offset_bytes, length_bytes)?;
        let bounds = [offset_bytes, offset_bytes + length_bytes];
        if bounds
            .iter()
            .any(|at_bytes| self.lacks_block_cut_at(*at_bytes))
        {
            for buffer in buffers {
                self.write(buffer, offset_bytes)?;
                offset_bytes += length_of(buffer);
            }
        } else if length_bytes > 0 {
            self.head.write_vectored(buffers, offset_bytes)?;
            self.record_body(offset_bytes, length_bytes);
        }
        Ok(())
    }

    /// Makes a range read as zeros. Whole blocks cost an entry in the map and no write; before the first cut they become
    /// holes of the head's data file, as those of a raw file do.
    ///
    /// # Errors
    /// Fails as [`Disk::write`] does.
    pub fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), WriteError> {
        self.check_change(offset_bytes, length_bytes)?;
        let end_bytes = offset_bytes + length_bytes;
        let whole = self.whole_blocks(offset_bytes, end_bytes);
        let first_end = end_bytes.min(whole.offset_bytes());
        self.zero_part(offset_bytes, first_end)?;
        if self.is_only_head() {
            self.punch(whole)?;
            self.overwrite_rest(whole)?;
        } else {
            self.head.record_zeros(&mut self.view.map, whole);
        }
        let last_start = first_end.max(whole.offset_bytes() + whole.length_bytes());
        self.zero_part(last_start, end_bytes)
    }

    /// Tells that a range is not needed any more: its whole blocks read as zeros, other bytes are
    /// unchanged. The space is given back by [`Disk::reclaim`], and before the first cut by this call. If the host's
    /// filesystem then has no holes, the blocks are unchanged, too.
    ///
    /// # Errors
    /// If the range ends beyond the disk, or it cannot be told which blocks are holes of their file.
    pub fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), WriteError> {
        self.check_change(offset_bytes, length_bytes)?;
        let whole = self.whole_blocks(offset_bytes, offset_bytes + length_bytes);
        if self.is_only_head() {
            return Ok(self.punch(whole)?);
        }
        for run in self.written_blocks(whole)? {
            self.head.record_zeros(&mut self.view.map, run);
        }
        Ok(())
    }

    /// Lets the head have all blocks that read as zeros, as holes of its data file. Later writes to them
    /// are no changes of the head's list, so that a flush after them syncs the data file alone.
    ///
    /// It does nothing if the data file has any byte: a process that was killed may have left bytes there
    /// that no flush has kept.
    ///
    /// # Errors
    /// If it cannot be told where the data file has bytes.
    pub fn claim_zeros(&mut self) -> Result<(), WriteError> {
        self.check_not_failed()?;
        let data = &self.head.data;
        if data.next_data(0)? < data.end_bytes {
            return Ok(());
        }
        let disk = Run::new(0, blocks_of(self.view.size_bytes));
        let runs = self.view.map.runs(disk);
        let zeros: Vec<_> = runs.filter(|(_, slot)| *slot == ZEROS).collect();
        for (run, _) in zeros {
            self.head.record_write(&mut self.view.map, run);
        }
        Ok(())
    }

    /// Makes blocks of the only head holes of its data file, unless they are.
    fn punch(&mut self, blocks: Run) -> Result<(), StorageError> {
        let start_bytes = blocks.offset_bytes();
        let next_bytes = self.head.data.next_data(start_bytes)?;
        if blocks.count > 0 && next_bytes < start_bytes + blocks.length_bytes() {
            self.head.punch(blocks)?;
        }
        Ok(())
    }

    /// Writes zeros to those of the only head's blocks that could not be made holes.
    fn overwrite_rest(&mut self, blocks: Run) -> Result<(), StorageError> {
        let start_bytes = blocks.offset_bytes();
        let end_bytes = start_bytes + blocks.length_bytes();
        let mut at_bytes = self.head.data.next_data(start_bytes)?.max(start_bytes);
        while at_bytes < end_bytes {
            let length_bytes = BLOCK_BYTES.min(end_bytes - at_bytes);
            let zeros = ZERO_BLOCK
                .get(..in_memory(length_bytes))
                .unwrap_or_default();
            self.head.write(zeros, at_bytes)?;
            at_bytes += length_bytes;
        }
        Ok(())
    }

    fn check_change(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), WriteError> {
        self.check_not_failed()?;
        Ok(self.view.check(offset_bytes, length_bytes)?)
    }

    /// Splits bytes to be written into a part of a block that the head lacks, bytes that can be
    /// written where they belong, and another such part.
    fn split<'a>(&self, bytes: &'a [u8], offset_bytes: u64) -> (&'a [u8], &'a [u8], &'a [u8]) {
        let end_bytes = offset_bytes + length_of(bytes);
        let first_end = if self.lacks_block_cut_at(offset_bytes) {
            offset_bytes.next_multiple_of(BLOCK_BYTES).min(end_bytes)
        } else {
            offset_bytes
        };
        let (first, rest) = bytes.split_at(in_memory(first_end - offset_bytes));
        let is_last_partial = !rest.is_empty() && self.lacks_block_cut_at(end_bytes);
        let last_length = if is_last_partial {
            end_bytes % BLOCK_BYTES
        } else {
            0
        };
        let (body, last) = rest.split_at(rest.len() - in_memory(last_length));
        (first, body, last)
    }

    /// Returns true if an offset lies within a block that the head lacks.
    fn lacks_block_cut_at(&self, at_bytes: u64) -> bool {
        !at_bytes.is_multiple_of(BLOCK_BYTES)
            && !self.head.has(&self.view.map, at_bytes / BLOCK_BYTES)
    }

    /// Records that a range was written to the head's data file, where it belongs.
    fn record_body(&mut self, offset_bytes: u64, length_bytes: u64) {
        let end_bytes = offset_bytes + length_bytes;
        let blocks = Run::from_bounds(offset_bytes / BLOCK_BYTES, blocks_of(end_bytes));
        self.head.record_write(&mut self.view.map, blocks);
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
        self.view.read(old, start_bytes)?;
        let start = in_memory(offset_bytes - start_bytes);
        if let Some(changed) = block.get_mut(start..start + part.len()) {
            changed.copy_from_slice(part);
        }
        self.head.write(&block, start_bytes)?;
        self.head.record_write(&mut self.view.map, run);
        Ok(())
    }

    /// Makes a part of one block zeros, unless the block has no other bytes.
    fn zero_part(&mut self, offset_bytes: u64, end_bytes: u64) -> Result<(), WriteError> {
        let length = in_memory(end_bytes.saturating_sub(offset_bytes));
        if length == 0 || self.view.map.slot(offset_bytes / BLOCK_BYTES) == ZEROS {
            return Ok(());
        }
        self.write(ZERO_BLOCK.get(..length).unwrap_or_default(), offset_bytes)
    }

    /// Returns the blocks of a run that may have another byte than zero.
    fn written_blocks(&self, run: Run) -> Result<Vec<Run>, ReadError> {
        let mut blocks = Vec::new();
        for (run, slot) in self.view.map.runs(run) {
            for range in self.view.written(run, slot) {
                let (offset_bytes, length_bytes) = range?;
                let end_bytes = offset_bytes + length_bytes;
                blocks.push(Run::from_bounds(
                    offset_bytes / BLOCK_BYTES,
                    blocks_of(end_bytes),
                ));
            }
        }
        Ok(blocks)
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
