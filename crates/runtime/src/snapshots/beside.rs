use std::io;
use std::path::PathBuf;

use fs_err as fs;
use generations::{FileStorage, GenerationId, Pool, State};

use crate::flock;
use crate::sandbox::{SandboxPaths, UpperPool};
use crate::snapshots::SnapshotError;

/// A pool of its own in which generations are made that no list has yet. In that of the disk they would be
/// taken for leftovers. What it takes from there has a second name, and stays readable whatever is removed.
#[derive(Debug)]
pub(super) struct PoolBeside {
    pub(super) pool: Pool<FileStorage>,
    directory: PathBuf,
    _lock: fs::File,
}

/// What to do while another process has the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Wait until it has ended.
    Wait,
    /// Leave it to that process.
    Pass,
}

impl PoolBeside {
    /// Takes the right to make generations for a sandbox; `None` if another process has it and `turn` says
    /// to pass.
    pub(super) fn claim(files: &SandboxPaths, turn: Turn) -> io::Result<Option<Self>> {
        let directory = files.merging();
        // The parents are not made: the sandbox may have been removed.
        match fs::create_dir(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let lock = fs::File::open(&directory)?;
        match turn {
            Turn::Wait => flock::wait(&lock, flock::Kind::Exclusive)?,
            Turn::Pass if !flock::try_once(&lock, flock::Kind::Exclusive)? => return Ok(None),
            Turn::Pass => {}
        }
        Ok(Some(Self {
            pool: Pool::new(FileStorage::open(&directory)?),
            directory,
            _lock: lock,
        }))
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

impl Drop for PoolBeside {
    fn drop(&mut self) {
        // What stays is removed by the next one.
        let _ = self.clear();
    }
}

/// Returns a state with generations, whatever its size.
pub(super) fn list(generations: &[GenerationId]) -> State {
    State {
        size_bytes: 0,
        generations: generations.to_vec(),
    }
}
