use std::io;

use crate::block::{Run, blocks_of};
use crate::error::ReadError;
use crate::map::Slot;
use crate::storage::Storage;
use crate::view::View;
use crate::{FileBlocks, FileRun};

/// The slot of the oldest generation, which is the base of a disk that has one.
const FIRST: Slot = 1;

/// A disk that is opened for reading: a state, or a disk that no process writes to.
#[derive(Debug)]
pub struct Snapshot<S: Storage> {
    view: View<S::File>,
    /// The lock of the disk; a state needs none.
    _lock: Option<S::Lock>,
}

impl<S: Storage> Snapshot<S> {
    pub(crate) fn new(view: View<S::File>, lock: Option<S::Lock>) -> Self {
        Self { view, _lock: lock }
    }

    /// Returns the size of the disk, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.view.size_bytes
    }

    /// Returns the ranges that may have another byte than zero, in ascending order and without overlaps: the
    /// offset and the length of each, in bytes. Holes of the files that the disk is made of are left out.
    pub fn written(&self) -> impl Iterator<Item = Result<(u64, u64), ReadError>> + '_ {
        let whole = Run::new(0, blocks_of(self.view.size_bytes));
        let runs = self.view.map.runs(whole);
        runs.flat_map(|(run, slot)| self.view.written(run, slot))
    }

    /// Returns the parts of files that consecutive blocks of the disk are, in their order. `base` is that of the
    /// disk, as [`Pool::base`](crate::Pool::base) returns it. `None` if a block is not one of the base, or was
    /// changed since.
    pub fn parts_of_base(
        &self,
        base: &FileBlocks,
        first_block: u64,
        count: u64,
    ) -> Option<Vec<FileRun>> {
        let end = first_block.checked_add(count)?;
        let blocks = Run::from_bounds(first_block, end);
        if end > blocks_of(self.view.size_bytes) {
            return None;
        }
        let mut runs = self.view.map.runs(blocks);
        let is_unchanged = runs.all(|(_, slot)| slot == FIRST);
        is_unchanged.then(|| base.parts(blocks)).flatten()
    }

    /// Fills `buf` with the bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// If the range ends beyond the disk, or a generation cannot be read.
    pub fn read(&self, buf: &mut [u8], offset_bytes: u64) -> Result<(), ReadError> {
        self.view.read(buf, offset_bytes)
    }
}

impl<S: Storage> fstree::ReadAt for Snapshot<S> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        Ok(self.read(buf, offset_bytes)?)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.view.size_bytes)
    }
}
