use std::io::{self, IoSliceMut};
use std::sync::Arc;

use crate::block::{BLOCK_BYTES, GENERATIONS_MAX, Run, blocks_of};
use crate::block_set::BlockSet;
use crate::error::{Failed, GrowError, MergeError, OpenError, ReadError, StorageError};
use crate::head::{Head, Sealing};
use crate::id::draw;
use crate::names;
use crate::open::{load, open_data, open_generation, read_record, replay};
use crate::sealed::{create_anew, remove};
use crate::state::{DiskRecord, check_size};
use crate::storage::{Access, Storage, StorageFile};
use crate::view::{Data, View};
use crate::{DiskId, GenerationId};

/// A disk that is open for reading and writing.
///
/// Changes are durable after [`Disk::flush`]. After a power cut the disk is as it was at some moment
/// that is not before the last flush that succeeded, as a raw file would be: of later writes any
/// subset of sectors may be there.
#[derive(Debug)]
pub struct Disk<S: Storage> {
    pub(crate) storage: Arc<S>,
    _lock: S::Lock,
    pub(crate) record: DiskRecord,
    pub(crate) view: View<S::File>,
    pub(crate) head: Head<S::File>,
    /// The head of the last cut, until it is sealed.
    pub(crate) sealing: Option<Sealing<S::File>>,
    /// Blocks of sealed data files that may be punched.
    pub(crate) unused: Vec<(Data<S::File>, BlockSet)>,
    /// True if the record in the pool is older than `record`.
    pub(crate) is_unpublished: bool,
    /// True if the pool has no record of the disk yet.
    pub(crate) is_new: bool,
    /// True if the names of the pool's files may not be durable: a process that was killed may have
    /// renamed files that are read now.
    pub(crate) has_unsynced_names: bool,
    pub(crate) has_failed: bool,
}

impl<S: Storage> Disk<S> {
    /// Opens a disk whose lock was taken.
    pub(crate) fn open(storage: Arc<S>, disk: DiskId, lock: S::Lock) -> Result<Self, OpenError> {
        let record = read_record(storage.as_ref(), disk)?;
        Self::of_record(storage, record, lock)
    }

    /// Opens a disk of which the pool has no record yet, and whose lock was taken.
    pub(crate) fn begin(
        storage: Arc<S>,
        record: DiskRecord,
        lock: S::Lock,
    ) -> Result<Self, OpenError> {
        let mut disk = Self::of_record(storage, record, lock)?;
        disk.is_new = true;
        Ok(disk)
    }

    fn of_record(
        storage: Arc<S>,
        mut record: DiskRecord,
        lock: S::Lock,
    ) -> Result<Self, OpenError> {
        let mut view = load(storage.as_ref(), &record.state)?;
        let count = record.state.generations.len() + 1;
        if count > GENERATIONS_MAX {
            return Err(OpenError::TooManyGenerations { count });
        }
        let is_unpublished = record.head.is_none();
        let head = match record.head {
            Some(head) => open_head(storage.as_ref(), head, &mut view)?,
            None => {
                let head = create_head(storage.as_ref(), record.next, &mut view)?;
                let head = head.ok_or(OpenError::TooManyGenerations { count })?;
                record.head = Some(record.next);
                record.next = draw(storage.as_ref(), GenerationId::from_bytes)?;
                head
            }
        };
        Ok(Self {
            storage,
            _lock: lock,
            record,
            view,
            head,
            sealing: None,
            unused: Vec::new(),
            is_unpublished,
            is_new: false,
            has_unsynced_names: true,
            has_failed: false,
        })
    }

    /// Returns the identifier of the disk.
    pub fn id(&self) -> DiskId {
        self.record.disk
    }

    /// Returns the size of the disk, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.view.size_bytes
    }

    /// Returns the identifier of the generation that takes the writes.
    pub fn head_id(&self) -> GenerationId {
        self.head.data.id
    }

    /// Returns the number of generations, the head included.
    pub fn generation_count(&self) -> usize {
        self.record.state.generations.len() + 1
    }

    /// Fills `buf` with the bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// If the range ends beyond the disk, or a generation cannot be read.
    pub fn read(&self, buf: &mut [u8], offset_bytes: u64) -> Result<(), ReadError> {
        self.view.read(buf, offset_bytes)
    }

    /// Fills buffers, one after the other, with the bytes from `offset_bytes` on: a call of the host for each
    /// run of blocks that lie together, and none for each buffer.
    ///
    /// # Errors
    /// Fails as [`Disk::read`] does.
    pub fn read_vectored(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> Result<(), ReadError> {
        self.view.read_vectored(buffers, offset_bytes)
    }

    /// Appends zeros until the disk has `size_bytes`. The next flush makes it durable.
    ///
    /// # Errors
    /// If the size is less than the disk's or none that a disk can have, or the head's file cannot be
    /// made longer.
    pub fn grow(&mut self, size_bytes: u64) -> Result<(), GrowError> {
        self.check_not_failed()?;
        check_size(size_bytes)?;
        let old_size_bytes = self.size_bytes();
        if size_bytes < old_size_bytes {
            return Err(GrowError::Shrink {
                size_bytes: old_size_bytes,
                wanted_bytes: size_bytes,
            });
        }
        if self.is_only_head() {
            let cut_off = self.cut_off_excess();
            self.has_failed |= cut_off.as_ref().is_err_and(StorageError::is_of_a_sync);
            cut_off?;
        }
        let mut data = self.head.data.clone();
        extend(&mut data, size_bytes)?;
        self.head.data = data.clone();
        self.head.note_growth();
        self.view.set_file(self.head.slot, data);
        self.view.map.grow(blocks_of(size_bytes));
        self.view.size_bytes = size_bytes;
        if self.is_only_head() {
            self.head
                .hold_all(&mut self.view.map, blocks_of(size_bytes));
        }
        // The rest of the last block may have bytes of a growth that a power cut undid.
        let block_end = old_size_bytes.next_multiple_of(BLOCK_BYTES).min(size_bytes);
        if let Err(error) = self.zero(old_size_bytes, block_end - old_size_bytes) {
            self.view.size_bytes = old_size_bytes;
            return Err(error.into());
        }
        self.record.state.size_bytes = size_bytes;
        self.is_unpublished = true;
        Ok(())
    }

    /// Returns true if the head is the only generation. It then holds all blocks: a hole of its data file reads as
    /// zeros, and its log stays empty.
    pub(crate) fn is_only_head(&self) -> bool {
        self.record.state.generations.is_empty()
    }

    /// Cuts off what the only head's data file has beyond the disk: bytes of a growth that was not flushed. That is
    /// durable before the record says that the disk has more blocks.
    fn cut_off_excess(&mut self) -> Result<(), StorageError> {
        let end_bytes = Run::new(0, blocks_of(self.size_bytes())).length_bytes();
        let data = &mut self.head.data;
        if data.next_data(end_bytes)? < data.end_bytes {
            let sized = data.file.set_size(end_bytes);
            sized.map_err(|error| data.error("shorten", error))?;
            data.end_bytes = end_bytes;
            data.sync()?;
        }
        Ok(())
    }

    /// Uses the generation that neighbours were merged into, instead of them. Nothing that is read
    /// changes. The next flush makes it durable, and only then may the merged ones be removed.
    ///
    /// # Errors
    /// If the disk does not have the generations one after the other, or the new one cannot be
    /// opened.
    pub fn replace_merged(
        &mut self,
        merged: &[GenerationId],
        into: GenerationId,
    ) -> Result<(), MergeError> {
        let data = open_generation(self.storage.as_ref(), into)?;
        if !self.record.state.replace_merged(merged, into) {
            return Err(MergeError::NotNeighbours {
                first: merged.first().copied().unwrap_or(into),
                disk: self.id(),
            });
        }
        // The map keeps its numbers, which all lead to the one file.
        for file in &mut self.view.files {
            if merged.contains(&file.id) {
                *file = data.clone();
            }
        }
        self.unused.retain(|(data, _)| !merged.contains(&data.id));
        self.is_unpublished = true;
        Ok(())
    }

    pub(crate) fn check_not_failed(&self) -> Result<(), Failed> {
        let disk = self.record.disk;
        (!self.has_failed).then_some(()).ok_or(Failed { disk })
    }
}

impl<S: Storage> fstree::ReadAt for Disk<S> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        Ok(self.read(buf, offset_bytes)?)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.view.size_bytes)
    }
}

/// Opens the head that a disk's record names, as it was when it was last flushed. Without older generations it
/// holds all blocks.
fn open_head<S: Storage>(
    storage: &S,
    id: GenerationId,
    view: &mut View<S::File>,
) -> Result<Head<S::File>, OpenError> {
    // A cut may have sealed the head and ended before the record said so.
    remove(storage, &names::blocks(id))?;
    let mut data = open_data(storage, id, Access::Write)?;
    let name = names::log(id);
    let log = storage.open(&name, Access::Write);
    let log = log.map_err(StorageError::of("open", &name))?;
    if view.files.is_empty() {
        extend(&mut data, view.size_bytes)?;
        let mut head = Head::only(data, log, view);
        head.restore(0, &[]);
        return Ok(head);
    }
    let mut changes = Vec::new();
    let (slot, scan) = replay(view, data.clone(), &log, |kind, run| {
        changes.push((kind, run));
    })?;
    extend(&mut data, view.size_bytes)?;
    view.set_file(slot, data.clone());
    let mut head = Head::new(data, slot, log);
    head.restore(scan.records, &changes);
    if scan.has_damage {
        head.rewrite_log(storage)?;
    }
    Ok(head)
}

/// Makes an empty head, in the place of leftovers; `None` if the map has no number left. Without older
/// generations it holds all blocks.
pub(crate) fn create_head<S: Storage>(
    storage: &S,
    id: GenerationId,
    view: &mut View<S::File>,
) -> Result<Option<Head<S::File>>, StorageError> {
    let file = Arc::new(create_anew(storage, &names::data(id))?);
    let end_bytes = 0;
    let mut data = Data {
        id,
        file,
        end_bytes,
    };
    extend(&mut data, view.size_bytes)?;
    let log = create_anew(storage, &names::log(id))?;
    if view.files.is_empty() {
        return Ok(Some(Head::only(data, log, view)));
    }
    let slot = view.push(data.clone());
    Ok(slot.map(|slot| Head::new(data, slot, log)))
}

/// Makes a head's data file long enough for all blocks of a disk.
fn extend<F: StorageFile>(data: &mut Data<F>, size_bytes: u64) -> Result<(), StorageError> {
    let wanted_bytes = Run::new(0, blocks_of(size_bytes)).length_bytes();
    if data.end_bytes < wanted_bytes {
        let sized = data.file.set_size(wanted_bytes);
        sized.map_err(|error| data.error("extend", error))?;
        data.end_bytes = wanted_bytes;
    }
    Ok(())
}
