//! Removal: the record goes first, then the generations that nothing lists any more.

use generations::State;
use msb_runtime::{ChangeLock, UpperPool};

use super::layer::remove_unneeded;
use super::record::Records;
use super::{SandboxSnapshots, SnapshotError};

impl SandboxSnapshots {
    /// Removes a snapshot of the sandbox, running or not, and the generations that neither its disk nor another
    /// snapshot has. A snapshot whose record is damaged can be removed; while the record of another one
    /// is damaged, generations are kept, as some may be that one's.
    ///
    /// # Errors
    /// If the sandbox has no such snapshot, or a file cannot be removed. Once the record is
    /// removed, the snapshot is; generations that are left go with the next removal.
    pub fn remove_snapshot(&self, name: &str) -> Result<(), SnapshotError> {
        let naming = ChangeLock::take(&self.files)?;
        let (records, name) = (Records::new(&self.files), self.snapshot_name(name)?);
        if let Ok(snapshot) = records.read(&name) {
            self.give_snapshot_number(&naming, snapshot.number)?;
        }
        records.remove(&name)?;
        drop(naming);
        self.remove_unlisted()
    }

    /// Removes the generations that neither the disk nor a snapshot has, and the images of staged directories that
    /// no list of them lies over, unless a record is damaged. It waits for those who need that generations stay.
    ///
    /// # Errors
    /// If a record cannot be read, or a file cannot be removed.
    pub fn remove_unlisted(&self) -> Result<(), SnapshotError> {
        let Some(pool) = UpperPool::find(&self.files)? else {
            return Ok(());
        };
        let _removing = pool.claim_generations()?;
        self.remove_unlisted_of(&pool)
    }

    /// Removes them. The caller has the right to do so.
    pub(super) fn remove_unlisted_of(&self, pool: &UpperPool) -> Result<(), SnapshotError> {
        let kept: Vec<State> = match Records::new(&self.files).states() {
            Ok(kept) => kept.into_iter().map(|(_, state)| state).collect(),
            // The state of a damaged one is unknown.
            Err(SnapshotError::Damaged { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        pool.pool.remove_unlisted(&kept)?;
        let disk = pool.state()?;
        Ok(remove_unneeded(&self.files, kept.iter().chain([&disk]))?)
    }
}
