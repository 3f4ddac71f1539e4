use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use durable_files::allocated_bytes;
use fs_err as fs;
use generations::{
    Base, CreateError, Disk, DiskId, FileStorage, FlushError, GenerationId, OpenError, Pool,
    Snapshot, State,
};

use super::SandboxPaths;
use durable_files::flock;

/// The identifier of the upper disk in its pool, which has no other disk.
const UPPER: [u8; 16] = *b"msb's upper disk";

/// Files, by their filesystem and their number there.
pub type SeenFiles = HashSet<(u64, u64)>;

/// The upper disk of a sandbox: a pool of generations in the sandbox's directory. Until its first cut it is one
/// file, as a raw disk would be.
#[derive(Debug)]
pub struct UpperPool {
    /// The pool.
    pub pool: Pool<FileStorage>,
    directory: PathBuf,
    merging: PathBuf,
}

impl UpperPool {
    /// Opens the pool of a sandbox; `None` if it has no upper disk, or a raw one that is not adopted yet.
    ///
    /// # Errors
    /// If the sandbox's directory cannot be read.
    pub fn find(files: &SandboxPaths) -> io::Result<Option<Self>> {
        if !fs::exists(files.generations())? {
            return Ok(None);
        }
        let pool = Self::at(files)?;
        let disks = pool.pool.disks().map_err(io::Error::other)?;
        Ok(disks.contains(&disk_id()).then_some(pool))
    }

    /// Opens the pool of a sandbox.
    ///
    /// # Errors
    /// `NotFound` if the sandbox has none; otherwise as [`find`](Self::find).
    pub fn existing(files: &SandboxPaths) -> io::Result<Self> {
        Self::find(files)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens the pool of a stopped sandbox. A raw disk, such as one that was imported, becomes its first
    /// generation, without a copy. If both exist, the process that made the pool of the raw disk ended before it
    /// had removed the old name, which is removed then.
    ///
    /// # Errors
    /// If the pool cannot be written. The sandbox has its raw disk or its pool then.
    pub fn adopt(files: &SandboxPaths) -> Result<Self, AdoptError> {
        let pool = Self::at(files)?;
        if fs::exists(files.upper())? {
            // A pool whose own name is lost would have the only name of the disk.
            durable_files::sync_directory(&files.directory)?;
            let _keeping = pool.keep_generations()?;
            pool.pool.adopt(disk_id(), &files.upper())?;
        }
        Ok(pool)
    }

    /// Makes the upper disk of a new sandbox, which `write` fills. The names in the sandbox's directory become
    /// durable with its description.
    pub(crate) fn create<E: From<AdoptError>>(
        files: &SandboxPaths,
        size_bytes: u64,
        is_durable: bool,
        write: impl FnOnce(&mut Disk<FileStorage>) -> Result<(), E>,
    ) -> Result<(), E> {
        let pool = Self::at(files).map_err(AdoptError::from)?;
        let begun = pool.pool.begin_disk(disk_id(), size_bytes);
        let mut disk = begun.map_err(AdoptError::from)?;
        write(&mut disk)?;
        let ended = if is_durable {
            disk.flush().map_err(AdoptError::from)
        } else {
            let closed = disk.close_unsynced();
            closed.map_err(|error| CreateError::from(error).into())
        };
        Ok(ended?)
    }

    /// Makes the upper disk of a new sandbox, which begins with bytes that lie elsewhere.
    pub(crate) fn create_over(files: &SandboxPaths, base: &Base) -> Result<(), AdoptError> {
        let pool = Self::at(files)?;
        durable_files::sync_directory(&files.directory)?;
        Ok(pool.pool.create_over(disk_id(), base)?)
    }

    /// Returns the bytes elsewhere that the disk begins with; `None` if it begins with none.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn base(&self) -> Result<Option<Base>, OpenError> {
        self.pool.base(disk_id())
    }

    fn at(files: &SandboxPaths) -> io::Result<Self> {
        let directory = files.generations();
        Ok(Self {
            pool: Pool::new(FileStorage::open(&directory)?),
            directory,
            merging: files.merging(),
        })
    }

    /// Waits until nobody removes generations, and keeps others from it. Who reads a list and then opens
    /// what it names, or makes a state that nobody lists yet, holds it meanwhile.
    ///
    /// # Errors
    /// If the lock cannot be taken.
    pub fn keep_generations(&self) -> io::Result<GenerationsLock> {
        self.take(flock::Kind::Shared)
    }

    /// Waits until nobody else needs that generations stay, and takes the right to remove some.
    ///
    /// # Errors
    /// If the lock cannot be taken.
    pub fn claim_generations(&self) -> io::Result<GenerationsLock> {
        self.take(flock::Kind::Exclusive)
    }

    fn take(&self, kind: flock::Kind) -> io::Result<GenerationsLock> {
        let directory = fs::File::open(&self.directory)?;
        flock::wait(&directory, kind)?;
        Ok(GenerationsLock(directory))
    }

    /// Opens the disk for reading and writing.
    ///
    /// # Errors
    /// If another process has it open, or a file of it is missing or damaged.
    pub fn open(&self) -> Result<Disk<FileStorage>, OpenError> {
        self.pool.open_disk(disk_id())
    }

    /// Opens the disk of a stopped sandbox for reading.
    ///
    /// # Errors
    /// Fails as [`UpperPool::open`] does.
    pub fn read(&self) -> Result<Snapshot<FileStorage>, OpenError> {
        self.pool.read_disk(disk_id())
    }

    /// Makes the upper disk of a new sandbox. It begins with a state of this one, and shares its
    /// generations.
    ///
    /// # Errors
    /// If the generations cannot be given the second names.
    pub fn fork(&self, state: &State, files: &SandboxPaths) -> Result<(), AdoptError> {
        let forked = Self::at(files)?;
        durable_files::sync_directory(&files.directory)?;
        let shared = self.pool.share(state, &forked.pool);
        shared.map_err(CreateError::from)?;
        Ok(forked.pool.fork(state, &[disk_id()])?)
    }

    /// Returns true if another sandbox has the generation, too.
    ///
    /// # Errors
    /// If the file cannot be examined.
    pub fn is_shared(&self, id: GenerationId) -> io::Result<bool> {
        // A merge gives it a name, which stays if it is killed.
        let is_merged = fs::exists(self.merging.join(data_name(id)))?;
        Ok(fs::metadata(self.data(id))?.nlink() > 1 + u64::from(is_merged))
    }

    fn data(&self, id: GenerationId) -> PathBuf {
        self.directory.join(data_name(id))
    }

    /// Sets the disk of a stopped sandbox to a state.
    ///
    /// # Errors
    /// If the record of the disk cannot be written.
    pub fn roll_back(&self, state: &State) -> Result<(), CreateError> {
        self.pool.roll_back(disk_id(), state)
    }

    /// Sets the disk of a stopped sandbox to a state that nothing else has. If that is one generation with all
    /// blocks, the disk is as that of a new sandbox.
    ///
    /// # Errors
    /// If the record of the disk cannot be read or written.
    pub fn begin_again(&self, state: &State) -> Result<(), CreateError> {
        self.pool.roll_back_unshared(disk_id(), state)
    }

    /// Returns the size of the disk, in bytes.
    ///
    /// # Errors
    /// If the record of the disk is missing or damaged.
    pub fn size_bytes(&self) -> Result<u64, OpenError> {
        Ok(self.state()?.size_bytes)
    }

    /// Returns the size and the sealed generations of the disk.
    ///
    /// # Errors
    /// If the record of the disk cannot be read.
    pub fn state(&self) -> Result<State, OpenError> {
        self.pool.sealed_state(disk_id())
    }

    /// Returns the space that the data of a generation takes on the host's disk, in bytes; that which a copy
    /// would take at most if its data lies outside of the pool.
    ///
    /// # Errors
    /// If the file cannot be examined.
    pub fn data_bytes(&self, id: GenerationId) -> io::Result<u64> {
        if self.pool.is_base(id).map_err(io::Error::other)? {
            return Ok(u64::MAX);
        }
        Ok(allocated_bytes(&fs::metadata(self.data(id))?))
    }

    /// Returns the space that all generations take on the host's disk, in bytes.
    ///
    /// # Errors
    /// If a file cannot be examined.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        self.unseen_bytes(&mut HashSet::new())
    }

    /// Returns the space of the files that are not among `seen`, and adds them to it. Forks share files.
    pub(crate) fn unseen_bytes(&self, seen: &mut SeenFiles) -> io::Result<u64> {
        let mut bytes: u64 = 0;
        for entry in fs::read_dir(&self.directory)? {
            // A file may be removed meanwhile.
            let Ok(file) = entry?.metadata() else {
                continue;
            };
            if seen.insert((file.dev(), file.ino())) {
                bytes = bytes.saturating_add(allocated_bytes(&file));
            }
        }
        Ok(bytes)
    }
}

/// The right to have generations stay, or to remove them: a lock on their directory. The process of the
/// machine needs none, as it removes no generation.
#[derive(Debug)]
pub struct GenerationsLock(#[expect(dead_code, reason = "it is held, not used")] fs::File);

/// The upper disk of a sandbox cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// The sandbox's directory cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The pool cannot be written.
    #[error(transparent)]
    Pool(#[from] CreateError),
    /// The disk cannot be made durable.
    #[error(transparent)]
    Flush(#[from] FlushError),
}

fn data_name(id: GenerationId) -> String {
    format!("{id}.data")
}

fn disk_id() -> DiskId {
    DiskId::from_bytes(UPPER).expect("not all bytes are zero")
}
