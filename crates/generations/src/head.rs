use std::io::IoSlice;

use crate::block::{Run, blocks_of};
use crate::block_list::BlockList;
use crate::block_set::BlockSet;
use crate::error::{SYNC, StorageError};
use crate::log::{Changes, Kind, RECORD_BYTES};
use crate::map::{BlockMap, Slot, ZEROS};
use crate::names;
use crate::sealed;
use crate::storage::{Storage, StorageFile};
use crate::view::{Data, View};

/// Log size below which it is never rewritten, in records of 1 KiB.
const LOG_RECORDS_MIN: u64 = 512;

/// The generation that is written to.
#[derive(Debug)]
pub(crate) struct Head<F> {
    pub(crate) data: Data<F>,
    /// The number of the head in the map.
    pub(crate) slot: Slot,
    log: F,
    /// The number of records of the log.
    records: u64,
    /// The number of records at which the log is examined next.
    examine_at: u64,
    pub(crate) content: Content,
    /// The blocks whose state is not yet in the log.
    unlogged: BlockSet,
    has_unsynced_data: bool,
    /// True if the data file was synced since it was made or opened, so that its size is durable.
    has_durable_size: bool,
    has_unsynced_log: bool,
    /// True if the log may have records behind its end, left by an append that failed partway.
    has_unfinished_append: bool,
    /// True if records that are read may never reach the disk: a sync failed before the opening.
    has_unsure_log: bool,
}

/// The blocks that a generation holds.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// Blocks in the data file.
    pub(crate) data: BlockSet,
    /// Blocks that read as zeros, whatever older generations have.
    pub(crate) zeros: BlockSet,
    /// Blocks of the data file that hold nothing of use and may still take space.
    pub(crate) unused: BlockSet,
}

impl Content {
    fn add_data(&mut self, run: Run) {
        self.data.insert(run);
        self.zeros.remove(run);
        self.unused.remove(run);
    }

    fn add_zeros(&mut self, run: Run, was_data: bool) {
        self.zeros.insert(run);
        self.data.remove(run);
        if was_data {
            self.unused.insert(run);
        }
    }

    fn changes(&self) -> Changes {
        Changes {
            data: self.data.runs(),
            zeros: self.zeros.runs(),
        }
    }

    /// Returns the list of the generation whose data file is `data`.
    pub(crate) fn list<F>(&self, data: &Data<F>) -> BlockList {
        let Changes { data: runs, zeros } = self.changes();
        BlockList {
            id: data.id,
            data_bytes: data.end_bytes,
            is_base: false,
            digest: None,
            data: runs,
            zeros,
        }
    }
}

impl<F: StorageFile> Head<F> {
    pub(crate) fn new(data: Data<F>, slot: Slot, log: F) -> Self {
        Self {
            data,
            slot,
            log,
            records: 0,
            examine_at: LOG_RECORDS_MIN,
            content: Content::default(),
            unlogged: BlockSet::default(),
            has_unsynced_data: false,
            has_durable_size: false,
            has_unsynced_log: false,
            has_unfinished_append: false,
            has_unsure_log: false,
        }
    }

    /// Returns the only generation of a disk as its head, which holds all blocks.
    pub(crate) fn only(data: Data<F>, log: F, view: &mut View<F>) -> Self {
        let slot = view.push_only(data.clone());
        let mut head = Self::new(data, slot, log);
        head.content
            .add_data(Run::new(0, blocks_of(view.size_bytes)));
        head
    }

    /// Takes over the blocks that the log's first `records` records list. A process that was killed
    /// may have left data and records that are read now and are not durable yet. If a sync failed,
    /// Linux may never write a record that it still shows: the first flush writes the log anew.
    pub(crate) fn restore(&mut self, records: u64, changes: &[(Kind, Run)]) {
        self.records = records;
        self.has_unsynced_data = true;
        self.has_unsure_log = records > 0;
        for (kind, run) in changes {
            match kind {
                Kind::Data => self.content.add_data(*run),
                // The blocks may have been data, and not been punched before the end.
                Kind::Zeros => self.content.add_zeros(*run, true),
            }
        }
    }

    /// Takes all blocks of a disk that has no other generation. They are no entries of the log, because the record says
    /// that the head is the only one.
    pub(crate) fn hold_all(&mut self, map: &mut BlockMap, blocks: u64) {
        let all = Run::new(0, blocks);
        map.assign(all, self.slot);
        self.content.add_data(all);
    }

    /// Ends the head.
    pub(crate) fn into_sealing(self) -> Sealing<F> {
        Sealing {
            is_durable: self.has_durable_size && !self.has_unsynced_data,
            data: self.data,
            content: self.content,
        }
    }

    /// Returns true if the head changes nothing of the sealed generations.
    pub(crate) fn is_empty(&self) -> bool {
        self.content.data.is_empty() && self.content.zeros.is_empty()
    }

    /// Returns true if the data file has the block.
    pub(crate) fn has(&self, map: &BlockMap, block: u64) -> bool {
        map.slot(block) == self.slot
    }

    /// Writes bytes to the data file. The next flush syncs them even if only a part could be written:
    /// that part is read from then on.
    pub(crate) fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> Result<(), StorageError> {
        self.has_unsynced_data = true;
        self.data.write(bytes, offset_bytes)
    }

    /// Writes buffers, one after the other, as [`Head::write`] does.
    pub(crate) fn write_vectored(
        &mut self,
        buffers: &mut [IoSlice<'_>],
        offset_bytes: u64,
    ) -> Result<(), StorageError> {
        self.has_unsynced_data = true;
        self.data.write_vectored(buffers, offset_bytes)
    }

    /// Makes blocks holes of the data file, if the storage can do so. The next flush makes that durable.
    pub(crate) fn punch(&mut self, blocks: Run) -> Result<(), StorageError> {
        self.has_unsynced_data = true;
        let punched = self
            .data
            .file
            .punch(blocks.offset_bytes(), blocks.length_bytes());
        punched.map_err(|error| self.data.error("punch", error))
    }

    /// Returns the data file with its name; `None` if it is durable.
    pub(crate) fn unsynced_data(&self) -> Option<(String, &F)> {
        self.has_unsynced_data
            .then(|| (names::data(self.data.id), &*self.data.file))
    }

    /// Notes that the data file was made longer.
    pub(crate) fn note_growth(&mut self) {
        self.has_unsynced_data = true;
    }

    /// Notes that the data file was synced after the last change of it.
    pub(crate) fn note_sync_of_data(&mut self) {
        self.has_unsynced_data = false;
        self.has_durable_size = true;
    }

    /// Records that the data file has blocks, of which some may be new to it.
    pub(crate) fn record_write(&mut self, map: &mut BlockMap, blocks: Run) {
        self.has_unsynced_data = true;
        for run in other_runs(map, blocks, self.slot) {
            map.assign(run.0, self.slot);
            self.content.add_data(run.0);
            self.unlogged.insert(run.0);
        }
    }

    /// Makes blocks zeros, in the map alone.
    pub(crate) fn record_zeros(&mut self, map: &mut BlockMap, blocks: Run) {
        for (run, slot) in other_runs(map, blocks, ZEROS) {
            map.assign(run, ZEROS);
            self.content.add_zeros(run, slot == self.slot);
            self.unlogged.insert(run);
        }
    }

    /// Makes all changes durable: the data, then the log that lists it.
    pub(crate) fn flush<S>(&mut self, storage: &S, map: &BlockMap) -> Result<(), StorageError>
    where
        S: Storage<File = F>,
    {
        if self.has_unsynced_data {
            self.data.sync()?;
            self.note_sync_of_data();
        }
        if self.has_unsure_log {
            self.rewrite_log(storage)?;
        } else {
            self.append(&self.unlogged_changes(map))?;
        }
        self.unlogged = BlockSet::default();
        if self.records >= self.examine_at {
            self.shorten_log(storage)?;
        }
        Ok(())
    }

    /// Appends changes to the log, and makes it durable.
    fn append(&mut self, changes: &Changes) -> Result<(), StorageError> {
        let name = names::log(self.data.id);
        let end_bytes = self.records * RECORD_BYTES;
        if self.has_unfinished_append {
            // The changes may have become fewer records, which would not cover those.
            let sized = self.log.set_size(end_bytes);
            sized.map_err(StorageError::of("shorten", &name))?;
            self.has_unfinished_append = false;
            self.has_unsynced_log = true;
        }
        if changes.records() > 0 {
            let bytes = changes.to_records(self.data.id, self.records);
            self.has_unfinished_append = true;
            let written = self.log.write_all_at(&bytes, end_bytes);
            written.map_err(StorageError::of("write", &name))?;
            self.has_unfinished_append = false;
            self.has_unsynced_log = true;
        }
        if self.has_unsynced_log {
            self.log.sync().map_err(StorageError::of(SYNC, &name))?;
            self.has_unsynced_log = false;
        }
        self.records += changes.records();
        Ok(())
    }

    fn unlogged_changes(&self, map: &BlockMap) -> Changes {
        let mut changes = Changes::default();
        let unlogged = self.unlogged.runs().into_iter();
        for (run, slot) in unlogged.flat_map(|run| map.runs(run)) {
            match slot {
                ZEROS => changes.zeros.push(run),
                _ => changes.data.push(run),
            }
        }
        changes
    }

    /// Writes the log anew if most of its records say nothing any more: otherwise a guest that
    /// writes and discards one block would fill the disk of the host. The old log says all, too, so
    /// a new one that cannot be written is tried again later.
    fn shorten_log<S>(&mut self, storage: &S) -> Result<(), StorageError>
    where
        S: Storage<File = F>,
    {
        let needed = self.content.changes().records();
        self.examine_at = 2 * needed + LOG_RECORDS_MIN;
        if self.records > 2 * needed + LOG_RECORDS_MIN / 2 {
            match self.write_log(storage) {
                Ok(log) => self.use_log(storage, log)?,
                Err(_) => self.examine_at = self.records + LOG_RECORDS_MIN,
            }
        }
        Ok(())
    }

    /// Replaces the log by one that lists each block once; all changes are in it.
    pub(crate) fn rewrite_log<S>(&mut self, storage: &S) -> Result<(), StorageError>
    where
        S: Storage<File = F>,
    {
        let log = self.write_log(storage)?;
        self.use_log(storage, log)
    }

    /// Makes a log that lists each block once, under the name of an unfinished one.
    fn write_log<S>(&self, storage: &S) -> Result<F, StorageError>
    where
        S: Storage<File = F>,
    {
        let name = names::unfinished(&names::log(self.data.id));
        let bytes = self.content.changes().to_log(self.data.id);
        sealed::write(storage, &name, &bytes)
    }

    /// Puts the log that [`Head::write_log`] made in the place of the present one. The file is open
    /// already: were it opened after the rename and that failed, appends would go to the old one.
    fn use_log<S>(&mut self, storage: &S, log: F) -> Result<(), StorageError>
    where
        S: Storage<File = F>,
    {
        sealed::finish(storage, &names::log(self.data.id))?;
        self.log = log;
        self.records = self.content.changes().records();
        self.has_unsynced_log = false;
        self.has_unfinished_append = false;
        self.has_unsure_log = false;
        sealed::sync_names(storage)
    }
}

/// Returns the parts of `blocks` that have another slot, and that slot.
fn other_runs(map: &BlockMap, blocks: Run, slot: Slot) -> Vec<(Run, Slot)> {
    let others = map.runs(blocks).filter(|(_, present)| *present != slot);
    others.collect()
}

/// A head that takes no more writes and is not yet sealed.
#[derive(Debug)]
pub(crate) struct Sealing<F> {
    pub(crate) data: Data<F>,
    pub(crate) content: Content,
    /// True if the data is durable.
    is_durable: bool,
}

impl<F: StorageFile> Sealing<F> {
    /// Writes the list of the blocks, which is not durable yet. Returns its name and the open file.
    pub(crate) fn write_list<S>(&self, storage: &S) -> Result<(String, F), StorageError>
    where
        S: Storage<File = F>,
    {
        let name = names::blocks(self.data.id);
        let list = self.content.list(&self.data).to_bytes();
        let file = sealed::write_unsynced(storage, &name, &list)?;
        Ok((name, file))
    }

    /// Returns the data file with its name; `None` if it is durable.
    pub(crate) fn unsynced_data(&self) -> Option<(String, &F)> {
        (!self.is_durable).then(|| (names::data(self.data.id), &*self.data.file))
    }
}
