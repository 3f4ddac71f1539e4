use std::io;
use std::path::PathBuf;

use durable_files::flock;
use fs_err as fs;
use generations::{FileStorage, GenerationId, Pool, State};
use msb_runtime::{SandboxPaths, UpperPool};

use super::SnapshotError;

/// A pool of its own in which generations are made that no list has yet. In that of the disk they would be
/// taken for leftovers. What it takes from there has a second name, and stays readable whatever is removed.
#[derive(Debug)]
pub(super) struct StagingPool {
    pub(super) pool: Pool<FileStorage>,
    directory: PathBuf,
    _lock: fs::File,
}

impl StagingPool {
    /// Waits for the right to make generations for a sandbox, and takes it.
    pub(super) fn claim(files: &SandboxPaths) -> io::Result<Self> {
        let (directory, lock) = open(files)?;
        flock::wait(&lock, flock::Kind::Exclusive)?;
        Self::locked(directory, lock)
    }

    /// Takes the right; `None` if another process has it.
    pub(super) fn try_claim(files: &SandboxPaths) -> io::Result<Option<Self>> {
        let (directory, lock) = open(files)?;
        if !flock::try_once(&lock, flock::Kind::Exclusive)? {
            return Ok(None);
        }
        Self::locked(directory, lock).map(Some)
    }

    fn locked(directory: PathBuf, lock: fs::File) -> io::Result<Self> {
        Ok(Self {
            pool: Pool::new(FileStorage::open(&directory)?),
            directory,
            _lock: lock,
        })
    }

    /// Removes what is left in it.
    pub(super) fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    /// Gives generations of the disk's pool a second name. The caller keeps them meanwhile.
    pub(super) fn take(
        &self,
        pool: &UpperPool,
        generations: &[GenerationId],
    ) -> Result<(), SnapshotError> {
        Ok(pool.pool.share(&list(generations), &self.pool)?)
    }

    /// Gives generations to the disk's pool, whose caller may remove some there, and removes everything here.
    pub(super) fn give(
        &self,
        pool: &UpperPool,
        generations: &[GenerationId],
    ) -> Result<(), SnapshotError> {
        self.pool.share(&list(generations), &pool.pool)?;
        Ok(self.clear()?)
    }
}

impl Drop for StagingPool {
    fn drop(&mut self) {
        // What stays is removed by the next one.
        let _ = self.clear();
    }
}

/// Opens the directory of the pool, and makes it if it is missing.
fn open(files: &SandboxPaths) -> io::Result<(PathBuf, fs::File)> {
    let directory = files.merging();
    // The parents are not made: the sandbox may have been removed.
    match fs::create_dir(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let lock = fs::File::open(&directory)?;
    Ok((directory, lock))
}

/// Returns a state with generations, whatever its size.
pub(super) fn list(generations: &[GenerationId]) -> State {
    State {
        size_bytes: 0,
        generations: generations.to_vec(),
    }
}
