//! A disk that is set to another state while it is open, or to one that nothing else has.

use crate::block::whole;
use crate::block_list::BlockList;
use crate::disk::{Disk, create_head};
use crate::error::{CreateError, OpenError, RollBackError, StorageError};
use crate::id::draw;
use crate::names;
use crate::open::{load_beside, read_record};
use crate::pool::Pool;
use crate::sealed::{create_anew, replace, sync_names};
use crate::state::{DiskRecord, State, check_size};
use crate::storage::{Access, Storage};
use crate::{DiskId, GenerationId};

impl<S: Storage + Sync> Pool<S> {
    /// Sets a disk that no process has open to a state that nothing else has or gets, in any pool. What it changed since
    /// its last cut is lost. If the state is one generation that holds all blocks, that becomes the head, and the disk is
    /// as one that was never cut.
    ///
    /// # Errors
    /// If the disk is open, its record or the list of the generation is missing or damaged, or a file cannot be written.
    /// The disk is unchanged then.
    pub fn roll_back_unshared(&self, disk: DiskId, state: &State) -> Result<(), CreateError> {
        let [id] = state.generations[..] else {
            return self.roll_back(disk, state);
        };
        let storage = self.storage.as_ref();
        let list = BlockList::read(storage, id)?;
        let is_whole = list.zeros.is_empty() && list.data == whole(state.size_bytes);
        if list.is_base || !is_whole {
            return self.roll_back(disk, state);
        }
        check_size(state.size_bytes)?;
        let _lock = self.lock(disk, Access::Write)?;
        read_record(storage, disk)?;
        create_anew(storage, &names::log(id))?;
        let state = State {
            size_bytes: state.size_bytes,
            generations: Vec::new(),
        };
        let record = DiskRecord {
            disk,
            state,
            head: Some(id),
            next: self.new_generation_id()?,
        };
        Ok(publish(storage, &record)?)
    }
}

impl<S: Storage> Disk<S> {
    /// Sets the disk to a state, and makes that durable. What was changed since the last cut is lost: to
    /// keep it, cut the disk before. The disk has the size of the state afterwards; whoever reads it must
    /// expect other bytes.
    ///
    /// ```
    /// # use generations::{FileStorage, Pool};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let pool = Pool::new(FileStorage::open(directory.path())?);
    /// # let id = pool.new_disk_id()?;
    /// # pool.create_disk(id, 4096)?;
    /// let mut disk = pool.open_disk(id)?;
    /// disk.write(b"before", 0)?;
    /// let state = disk.cut()?;
    /// disk.write(b"after!", 0)?;
    /// disk.roll_back(&state)?;
    /// let mut bytes = [0; 6];
    /// disk.read(&mut bytes, 0)?;
    /// assert_eq!(&bytes, b"before");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a generation of the state is missing or damaged, or a file cannot be written or synced. The disk
    /// is unchanged then; after a failed sync it takes no more changes, and is the old or the new one when
    /// it is opened again.
    pub fn roll_back(&mut self, state: &State) -> Result<(), RollBackError> {
        check_size(state.size_bytes)?;
        // A cut before this one becomes durable: its state may be kept. So does the name of the next head.
        self.flush()?;
        let storage = self.storage.as_ref();
        let mut view = load_beside(storage, state, &self.view.files)?;
        let count = state.generations.len() + 1;
        let head = create_head(storage, self.record.next, &mut view)?;
        let head = head.ok_or(OpenError::TooManyGenerations { count })?;
        let record = DiskRecord {
            disk: self.record.disk,
            state: state.clone(),
            head: Some(self.record.next),
            next: draw(storage, GenerationId::from_bytes)?,
        };
        let published = publish(storage, &record);
        if let Err(error) = published {
            // The record in the pool may be either one.
            self.has_failed |= error.is_of_a_sync();
            return Err(error.into());
        }
        self.record = record;
        self.view = view;
        self.head = head;
        Ok(())
    }
}

/// Replaces the record of a disk, once the files that it names are durable.
fn publish<S: Storage>(storage: &S, record: &DiskRecord) -> Result<(), StorageError> {
    sync_names(storage)?;
    replace(storage, &names::disk(record.disk), &record.to_bytes())
}
