use std::io::ErrorKind;
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{CreateError, OpenError, StorageError};
use crate::id::draw;
use crate::names;
use crate::names::Role;
use crate::open::{load, open_data, read_record, replay};
use crate::sealed::{remove, replace, sync_names, write};
use crate::snapshot::Snapshot;
use crate::state::{DiskRecord, State, check_size};
use crate::storage::{Access, Storage};
use crate::{DiskId, GenerationId};

/// Files that one thread writes and syncs.
const FILES_PER_THREAD: usize = 8;

/// A directory of generations, and of the disks that are made of them.
///
/// Generations belong to no disk: a generation is needed as long as a disk or a state that somebody
/// keeps lists it. [`Pool::remove_unlisted`] removes the others.
#[derive(Debug)]
pub struct Pool<S> {
    pub(crate) storage: Arc<S>,
}

impl<S> Clone for Pool<S> {
    fn clone(&self) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
        }
    }
}

impl<S: Storage + Sync> Pool<S> {
    /// Takes the files of a pool.
    pub fn new(storage: S) -> Self {
        Self {
            storage: Arc::new(storage),
        }
    }

    /// Draws an identifier for a disk to be created.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn new_disk_id(&self) -> Result<DiskId, StorageError> {
        draw(self.storage.as_ref(), DiskId::from_bytes)
    }

    /// Creates a disk of zeros, and makes it durable.
    ///
    /// # Errors
    /// If the size is no multiple of 512 bytes or too large, or the record cannot be written.
    pub fn create_disk(&self, disk: DiskId, size_bytes: u64) -> Result<(), CreateError> {
        let generations = Vec::new();
        let state = State {
            size_bytes,
            generations,
        };
        self.fork(&state, &[disk])
    }

    /// Makes a disk of zeros and opens it. Others find it after its first flush or [`Disk::close_unsynced`]; a power cut
    /// before that flush has succeeded leaves no disk, or a damaged one. No removal of unlisted generations may run
    /// until then.
    ///
    /// # Errors
    /// If the disk exists, the size is no multiple of 512 bytes or too large, or a file cannot be made.
    pub fn begin_disk(&self, disk: DiskId, size_bytes: u64) -> Result<Disk<S>, CreateError> {
        check_size(size_bytes)?;
        let lock = self.lock(disk, Access::Write)?;
        check_absent(self.storage.as_ref(), &names::disk(disk))?;
        let generations = Vec::new();
        let state = State {
            size_bytes,
            generations,
        };
        let record = self.record_of(disk, state)?;
        Ok(Disk::begin(Arc::clone(&self.storage), record, lock)?)
    }

    /// Creates disks that begin with the content of a state, and makes them durable. They share the
    /// state's generations, which nobody writes to again; each costs a record of some kilobytes.
    ///
    /// # Errors
    /// If a record cannot be written. Disks that were created before then exist.
    pub fn fork(&self, state: &State, disks: &[DiskId]) -> Result<(), CreateError> {
        check_size(state.size_bytes)?;
        let storage = self.storage.as_ref();
        let mut files = Vec::new();
        for disk in disks {
            let name = names::disk(*disk);
            check_absent(storage, &name)?;
            let record = self.record_of(*disk, state.clone())?;
            files.push((names::unfinished(&name), record.to_bytes()));
        }
        write_all(storage, &files)?;
        for disk in disks {
            let name = names::disk(*disk);
            let renamed = storage.rename(&names::unfinished(&name), &name);
            renamed.map_err(StorageError::of("create", &name))?;
        }
        Ok(sync_names(storage)?)
    }

    /// Gives the generations of a state to another pool on the same filesystem, too, without a copy, and
    /// makes that durable. Each pool can then remove them for itself. No removal of unlisted generations
    /// may run in the other pool until a disk of it lists them.
    ///
    /// # Errors
    /// If a generation is missing, or cannot be given another name.
    pub fn share(&self, state: &State, other: &Self) -> Result<(), StorageError> {
        for id in &state.generations {
            for name in [names::data(*id), names::blocks(*id)] {
                let linked = self.storage.link_into(&name, other.storage.as_ref());
                linked.map_err(StorageError::of("link", &name))?;
            }
        }
        sync_names(other.storage.as_ref())
    }

    /// Opens a disk for reading and writing. One process at a time can do so.
    ///
    /// # Errors
    /// If another process has it open, a file of it is missing or damaged, or it has too many
    /// generations.
    pub fn open_disk(&self, disk: DiskId) -> Result<Disk<S>, OpenError> {
        let lock = self.lock(disk, Access::Write)?;
        Disk::open(Arc::clone(&self.storage), disk, lock)
    }

    /// Opens a disk that no process writes to for reading, as it was when it was last flushed.
    ///
    /// # Errors
    /// Fails as [`Pool::open_disk`] does.
    pub fn read_disk(&self, disk: DiskId) -> Result<Snapshot<S>, OpenError> {
        let lock = self.lock(disk, Access::Read)?;
        let storage = self.storage.as_ref();
        let record = read_record(storage, disk)?;
        let mut view = load(storage, &record.state)?;
        if let Some(head) = record.head {
            let data = open_data(storage, head, Access::Read)?;
            if view.files.is_empty() {
                view.push_only(data);
            } else {
                let name = names::log(head);
                let log = storage.open(&name, Access::Read);
                let log = log.map_err(StorageError::of("open", &name))?;
                replay(&mut view, data, &log, |_, _| {})?;
            }
        }
        Ok(Snapshot::new(view, Some(lock)))
    }

    /// Opens a state for reading. Its generations are sealed, so nobody can change what is read.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open_snapshot(&self, state: &State) -> Result<Snapshot<S>, OpenError> {
        Ok(Snapshot::new(load(self.storage.as_ref(), state)?, None))
    }

    /// Returns the size and the sealed generations of a disk, without what it changed since its last
    /// cut.
    ///
    /// # Errors
    /// If the record is missing or damaged.
    pub fn sealed_state(&self, disk: DiskId) -> Result<State, OpenError> {
        Ok(read_record(self.storage.as_ref(), disk)?.state)
    }

    /// Sets a disk that no process has open to a state. What it changed since its last cut is lost:
    /// to keep it, cut it before.
    ///
    /// # Errors
    /// If the disk is open, or its record is damaged or cannot be written.
    pub fn roll_back(&self, disk: DiskId, state: &State) -> Result<(), CreateError> {
        check_size(state.size_bytes)?;
        let _lock = self.lock(disk, Access::Write)?;
        let storage = self.storage.as_ref();
        // A damaged disk can be rolled back, but one that does not exist is not made.
        let opened = storage.open(&names::disk(disk), Access::Read);
        opened.map_err(StorageError::of("open", &names::disk(disk)))?;
        let record = self.record_of(disk, state.clone())?;
        Ok(replace(storage, &names::disk(disk), &record.to_bytes())?)
    }

    /// Removes a disk that no process has open. Its generations stay until
    /// [`Pool::remove_unlisted`].
    ///
    /// # Errors
    /// If the disk is open or does not exist, or the file cannot be removed.
    pub fn remove_disk(&self, disk: DiskId) -> Result<(), OpenError> {
        let _lock = self.lock(disk, Access::Write)?;
        let storage = self.storage.as_ref();
        let name = names::disk(disk);
        let removed = storage.remove(&name);
        removed.map_err(StorageError::of("remove", &name))?;
        sync_names(storage)?;
        Ok(remove(storage, &names::lock(disk))?)
    }

    /// Returns all disks, in no order.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn disks(&self) -> Result<Vec<DiskId>, StorageError> {
        let names = self.names()?.into_iter();
        Ok(names
            .filter_map(|name| match names::role(&name) {
                Some(Role::Disk {
                    disk,
                    is_finished: true,
                }) => Some(disk),
                _ => None,
            })
            .collect())
    }

    pub(crate) fn names(&self) -> Result<Vec<String>, StorageError> {
        let names = self.storage.names();
        names.map_err(StorageError::of("list", "the pool's directory"))
    }

    pub(crate) fn new_generation_id(&self) -> Result<GenerationId, StorageError> {
        draw(self.storage.as_ref(), GenerationId::from_bytes)
    }

    fn record_of(&self, disk: DiskId, state: State) -> Result<DiskRecord, StorageError> {
        Ok(DiskRecord {
            disk,
            state,
            head: None,
            next: self.new_generation_id()?,
        })
    }

    pub(crate) fn lock(&self, disk: DiskId, access: Access) -> Result<S::Lock, OpenError> {
        let name = names::lock(disk);
        let lock = self.storage.lock(&name, access);
        let lock = lock.map_err(StorageError::of("lock", &name))?;
        lock.ok_or(OpenError::InUse { disk })
    }
}

/// Checks that a file does not exist.
pub(crate) fn check_absent<S: Storage>(storage: &S, name: &str) -> Result<(), StorageError> {
    match storage.open(name, Access::Read) {
        Ok(_) => Err(exists(name)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StorageError::of("open", name)(error)),
    }
}

/// Returns the error of a file that is to be created and exists.
pub(crate) fn exists(name: &str) -> StorageError {
    StorageError::of("create", name)(ErrorKind::AlreadyExists.into())
}

/// Writes and syncs files, several at once: a filesystem makes the syncs of several threads durable
/// together.
fn write_all<S: Storage + Sync>(
    storage: &S,
    files: &[(String, Vec<u8>)],
) -> Result<(), StorageError> {
    let write_part = |part: &[(String, Vec<u8>)]| {
        part.iter()
            .try_for_each(|(name, bytes)| write(storage, name, bytes).map(drop))
    };
    if files.len() <= FILES_PER_THREAD {
        return write_part(files);
    }
    std::thread::scope(|scope| {
        let parts = files.chunks(FILES_PER_THREAD);
        let writers: Vec<_> = parts
            .map(|part| scope.spawn(move || write_part(part)))
            .collect();
        let written = writers.into_iter().map(|writer| {
            writer
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        // All are waited for before the first error is reported.
        let written: Vec<_> = written.collect();
        written.into_iter().collect()
    })
}
