use std::io;
use std::path::PathBuf;

use fs_err as fs;
use generations::{FileStorage, GenerationId, MergeError, Pool, State, Verified};

use crate::flock;
use crate::sandbox::{SandboxPaths, UpperPool};
use crate::snapshots::SnapshotError;

/// A pool of its own in which generations are merged, one group at a time. It has second names of their
/// files, so they stay readable whatever is removed meanwhile, and the new generation is not taken for one
/// that nobody lists.
#[derive(Debug)]
pub(in crate::snapshots) struct PoolBeside {
    pool: Pool<FileStorage>,
    directory: PathBuf,
    _lock: fs::File,
}

/// What to do while another process merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::snapshots) enum Turn {
    /// Wait until it has ended.
    Wait,
    /// Leave it to that process.
    Pass,
}

/// Generations, the oldest first, and the one that they were merged into.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) from: Vec<GenerationId>,
    pub(super) into: GenerationId,
}

impl PoolBeside {
    /// Takes the right to merge generations of a sandbox; `None` if another process has it and `turn` says
    /// to pass.
    pub(in crate::snapshots) fn claim(
        files: &SandboxPaths,
        turn: Turn,
    ) -> io::Result<Option<Self>> {
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

    /// Removes what a merge before has left.
    pub(super) fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    /// Takes a group of generations. The caller keeps them meanwhile.
    pub(super) fn take(
        &self,
        pool: &UpperPool,
        group: Vec<GenerationId>,
    ) -> Result<Vec<GenerationId>, SnapshotError> {
        let taken = pool.pool.share(&list(&group), &self.pool);
        taken.map_err(MergeError::from)?;
        Ok(group)
    }

    /// Merges the group, and gives its files up.
    pub(super) fn merge(&self, from: Vec<GenerationId>) -> Result<Merged, SnapshotError> {
        // A changed byte would not be found any more in what it is copied to.
        let verified = from.iter().map(|id| self.pool.verify(*id));
        let verified: Vec<Verified> = verified.collect::<Result<_, _>>()?;
        let into = self.pool.merge(&from)?;
        if verified.iter().all(|found| *found == Verified::Content) {
            self.pool.record_digest(into)?;
        }
        self.pool.remove_unlisted(&[list(&[into])])?;
        Ok(Merged { from, into })
    }

    /// Gives the new generation to the disk's pool, whose caller may remove generations.
    pub(super) fn give(&self, pool: &UpperPool, merged: &Merged) -> Result<(), SnapshotError> {
        let given = self.pool.share(&list(&[merged.into]), &pool.pool);
        given.map_err(MergeError::from)?;
        Ok(self.clear()?)
    }
}

impl Drop for PoolBeside {
    fn drop(&mut self) {
        // What stays is removed by the next merge.
        let _ = self.clear();
    }
}

/// Returns a state with generations, whatever its size.
fn list(generations: &[GenerationId]) -> State {
    State {
        size_bytes: 0,
        generations: generations.to_vec(),
    }
}
