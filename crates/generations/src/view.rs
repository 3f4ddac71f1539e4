use std::io::{self, IoSlice};
use std::sync::Arc;

use crate::GenerationId;
use crate::block::{BLOCK_BYTES, Run, blocks_of, in_memory, length_of};
use crate::error::{OutOfRange, ReadError, SYNC, StorageError};
use crate::map::{BlockMap, Slot};
use crate::names;
use crate::storage::StorageFile;

/// Bytes after which the next hole of a file is looked for.
const STEP_BYTES: u64 = 1 << 20;

/// The open data file of a generation.
#[derive(Debug)]
pub(crate) struct Data<F> {
    pub(crate) id: GenerationId,
    pub(crate) file: Arc<F>,
    /// Bytes of the disk from here on are not in the file and read as zeros.
    pub(crate) end_bytes: u64,
}

impl<F> Clone for Data<F> {
    fn clone(&self) -> Self {
        Self {
            file: Arc::clone(&self.file),
            ..*self
        }
    }
}

impl<F: StorageFile> Data<F> {
    /// Fills `buf` with the disk's bytes from `offset_bytes` on, as the generation has them.
    pub(crate) fn read(&self, buf: &mut [u8], offset_bytes: u64) -> Result<(), StorageError> {
        let in_file = self.end_bytes.saturating_sub(offset_bytes);
        let in_file = in_memory(in_file.min(length_of(buf)));
        let (stored, beyond) = buf.split_at_mut(in_file);
        beyond.fill(0);
        let read = self.file.read_exact_at(stored, offset_bytes);
        read.map_err(|error| self.error("read", error))
    }

    pub(crate) fn write(&self, bytes: &[u8], offset_bytes: u64) -> Result<(), StorageError> {
        let written = self.file.write_all_at(bytes, offset_bytes);
        written.map_err(|error| self.error("write", error))
    }

    pub(crate) fn write_vectored(
        &self,
        buffers: &mut [IoSlice<'_>],
        offset_bytes: u64,
    ) -> Result<(), StorageError> {
        let written = self.file.write_vectored_at(buffers, offset_bytes);
        written.map_err(|error| self.error("write", error))
    }

    /// Returns the first offset from `offset_bytes` on at which the file may have another byte than zero.
    pub(crate) fn next_data(&self, offset_bytes: u64) -> Result<u64, StorageError> {
        let next = self.file.next_data(offset_bytes);
        next.map_err(|error| self.error("read", error))
    }

    pub(crate) fn sync(&self) -> Result<(), StorageError> {
        self.file.sync().map_err(|error| self.error(SYNC, error))
    }

    pub(crate) fn error(&self, operation: &'static str, source: io::Error) -> StorageError {
        StorageError::of(operation, &names::data(self.id))(source)
    }
}

/// The blocks of a disk: the map, and the open files that it names.
#[derive(Debug)]
pub(crate) struct View<F> {
    pub(crate) size_bytes: u64,
    pub(crate) map: BlockMap,
    /// The file of each slot, from slot 1 on. Merged generations share one.
    pub(crate) files: Vec<Data<F>>,
}

impl<F: StorageFile> View<F> {
    pub(crate) fn new(size_bytes: u64) -> Self {
        Self {
            size_bytes,
            map: BlockMap::new(blocks_of(size_bytes)),
            files: Vec::new(),
        }
    }

    /// Adds a file and returns its slot; `None` if the map has no number left.
    pub(crate) fn push(&mut self, data: Data<F>) -> Option<Slot> {
        let slot = Slot::try_from(self.files.len() + 1).ok()?;
        self.files.push(data);
        Some(slot)
    }

    /// Adds the file of a disk's only generation, which has all blocks, and returns its slot.
    pub(crate) fn push_only(&mut self, data: Data<F>) -> Slot {
        let slot = self.push(data).expect("the first slot is free");
        self.map
            .assign(Run::new(0, blocks_of(self.size_bytes)), slot);
        slot
    }

    /// Replaces the file of a slot.
    pub(crate) fn set_file(&mut self, slot: Slot, data: Data<F>) {
        let index = usize::from(slot).checked_sub(1);
        if let Some(file) = index.and_then(|index| self.files.get_mut(index)) {
            *file = data;
        }
    }

    /// Checks that a range lies on the disk.
    pub(crate) fn check(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), OutOfRange> {
        let end = offset_bytes.checked_add(length_bytes);
        let is_inside = end.is_some_and(|end| end <= self.size_bytes);
        is_inside.then_some(()).ok_or(OutOfRange {
            offset_bytes,
            length_bytes,
            size_bytes: self.size_bytes,
        })
    }

    /// Fills `buf` with the bytes from `offset_bytes` on.
    pub(crate) fn read(&self, buf: &mut [u8], offset_bytes: u64) -> Result<(), ReadError> {
        self.check(offset_bytes, length_of(buf))?;
        let end_bytes = offset_bytes + length_of(buf);
        let blocks = Run::from_bounds(offset_bytes / BLOCK_BYTES, blocks_of(end_bytes));
        let mut rest = buf;
        let mut at = offset_bytes;
        for (run, slot) in self.map.runs(blocks) {
            let run_end = (run.end() * BLOCK_BYTES).min(end_bytes);
            let (part, after) = rest.split_at_mut(in_memory(run_end - at));
            match self.file(slot) {
                None => part.fill(0),
                Some(data) => data.read(part, at)?,
            }
            rest = after;
            at = run_end;
        }
        Ok(())
    }

    /// Returns the ranges within a run of a slot that may have another byte than zero: offsets and lengths in
    /// bytes.
    pub(crate) fn written(
        &self,
        run: Run,
        slot: Slot,
    ) -> impl Iterator<Item = Result<(u64, u64), ReadError>> + '_ {
        let data = self.file(slot);
        let mut at = run.offset_bytes();
        let mut end = (run.end() * BLOCK_BYTES).min(self.size_bytes);
        std::iter::from_fn(move || {
            let data = data.filter(|_| at < end)?;
            let next = match data.next_data(at) {
                Ok(next) => next.min(data.end_bytes),
                Err(error) => {
                    end = at;
                    return Some(Err(error.into()));
                }
            };
            let start = at.max(next / BLOCK_BYTES * BLOCK_BYTES);
            if next >= data.end_bytes || start >= end {
                end = at;
                return None;
            }
            at = end.min(start + STEP_BYTES);
            Some(Ok((start, at - start)))
        })
    }

    /// Returns the file of a slot; `None` for zeros.
    pub(crate) fn file(&self, slot: Slot) -> Option<&Data<F>> {
        let index = usize::from(slot.checked_sub(1)?);
        self.files.get(index)
    }
}
