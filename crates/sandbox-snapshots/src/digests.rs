//! Work in the background after a snapshot, and the digests of generations that it takes.

use std::collections::BTreeSet;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use durable_files::flock;
use fs_err as fs;
use generations::GenerationId;
use msb_runtime::{ChangeLock, SandboxPaths, UpperPool};

use super::record::Records;
use super::{SandboxSnapshots, SnapshotError};

impl SandboxSnapshots {
    /// Does what is done in the background, after `delay`: more snapshots may come at once, and the processes that
    /// take them are not to be slowed down. Removes the expired snapshots of commands, calls `merge`, and takes the
    /// digest of each generation of a snapshot that has none. What comes meanwhile is done, too.
    ///
    /// If another process does so already, it takes the digests.
    ///
    /// A generation whose content lies outside of the pool, such as the layers below a native root, is passed over:
    /// it is read only when that is asked for. A snapshot whose record is damaged is passed over, too.
    ///
    /// # Errors
    /// The first error of a snapshot that cannot be removed, or of a generation that cannot be read; all others are
    /// removed, and have got their digests.
    pub fn maintain(&self, delay: Duration, mut merge: impl FnMut()) -> Result<(), SnapshotError> {
        let mut is_merged = false;
        let mut failed = BTreeSet::new();
        let mut outcome = Ok(());
        while let Some(taking) = DigestsLock::try_take(&self.files)? {
            sleep(delay);
            let expiry = self.expire_command_snapshots();
            let is_stuck = expiry.is_err();
            outcome = outcome.and(expiry.map(drop));
            merge();
            is_merged = true;
            for id in &self.without_digest()? - &failed {
                if let Err(error) = self.record_digest(id) {
                    failed.insert(id);
                    outcome = outcome.and(Err(error));
                }
            }
            drop(taking);
            // A process that came meanwhile has found the lock taken, and left its snapshot to this one.
            let has_expired = !is_stuck && self.has_expired_command_snapshots()?;
            if !has_expired && self.without_digest()?.is_subset(&failed) {
                break;
            }
        }
        if !is_merged {
            outcome = outcome.and(self.expire_command_snapshots().map(drop));
            merge();
        }
        outcome
    }

    /// Returns true if a process takes digests of the sandbox's snapshots.
    ///
    /// # Errors
    /// If the directory of the snapshots cannot be opened.
    pub fn takes_digests(&self) -> Result<bool, SnapshotError> {
        Ok(DigestsLock::try_take(&self.files)?.is_none())
    }

    /// Returns the generations of snapshots that have no digest, and lie in the pool.
    fn without_digest(&self) -> Result<BTreeSet<GenerationId>, SnapshotError> {
        let Some(pool) = UpperPool::find(&self.files)? else {
            return Ok(BTreeSet::new());
        };
        let _keeping = pool.keep_generations()?;
        let records = Records::new(&self.files);
        let snapshots = records.each()?.into_iter().flatten();
        let states = snapshots.filter_map(|one| one.state(records.path(&one.name)).ok());
        let all: BTreeSet<_> = states.flat_map(|state| state.generations).collect();
        let lacks = |id: &GenerationId| {
            // One that cannot be opened is `msb snapshot verify`'s to report.
            let sealed = pool.pool.open_sealed(*id).ok();
            sealed.is_some_and(|sealed| !sealed.has_digest() && !sealed.is_base())
        };
        Ok(all.into_iter().filter(lacks).collect())
    }

    fn record_digest(&self, id: GenerationId) -> Result<(), SnapshotError> {
        let Some(pool) = UpperPool::find(&self.files)? else {
            return Ok(());
        };
        // It stays readable when it is removed, so nobody waits for the reading.
        let keeping = pool.keep_generations()?;
        let sealed = pool.pool.open_sealed(id)?;
        drop(keeping);
        let digest = sealed.digest()?;
        let _keeping = pool.keep_generations()?;
        match pool.pool.open_sealed(id) {
            Ok(_) => self.set_digest(&pool, id, digest),
            // It was removed meanwhile.
            Err(_) => Ok(()),
        }
    }

    /// Records the digest of a generation. The caller keeps it.
    pub(super) fn set_digest(
        &self,
        pool: &UpperPool,
        id: GenerationId,
        digest: [u8; 32],
    ) -> Result<(), SnapshotError> {
        let _change = ChangeLock::take(&self.files)?;
        Ok(pool.pool.set_digest(id, digest)?)
    }
}

/// The right to take digests in the background, which one process has.
struct DigestsLock(#[expect(dead_code, reason = "it is held, not used")] fs::File);

impl DigestsLock {
    /// Takes the right; `None` if another process has it, or there are no snapshots.
    fn try_take(files: &SandboxPaths) -> io::Result<Option<Self>> {
        let directory = match fs::File::open(files.snapshots()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let is_taken = flock::try_once(&directory, flock::Kind::Exclusive)?;
        Ok(is_taken.then_some(Self(directory)))
    }
}
