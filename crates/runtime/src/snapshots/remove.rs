//! Removal: the record goes first, then the generations that nothing lists any more.

use generations::State;

use super::SnapshotError;
use super::record::Records;
use crate::Sandbox;
use crate::sandbox::UpperPool;

impl Sandbox {
    /// Removes a snapshot of the stopped sandbox, and the generations that neither its disk nor another
    /// snapshot has. A snapshot whose record is damaged can be removed; while the record of another one
    /// is damaged, generations are kept, as some may be that one's.
    ///
    /// # Errors
    /// If the sandbox runs, has no such snapshot, or a file cannot be removed. Once the record is
    /// removed, the snapshot is; generations that are left go with the next removal.
    pub fn remove_snapshot(&self, name: &str) -> Result<(), SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        let name = sandbox.snapshot_name(name)?;
        Records::new(&sandbox.files).remove(&name)?;
        sandbox.remove_unlisted()
    }

    /// Removes the generations that neither the disk nor a snapshot has, unless a record is damaged. The
    /// caller holds the sandbox's lock.
    pub(super) fn remove_unlisted(&self) -> Result<(), SnapshotError> {
        let kept: Vec<State> = match Records::new(&self.files).states() {
            Ok(kept) => kept.into_iter().map(|(_, state)| state).collect(),
            // The state of a damaged one is unknown.
            Err(SnapshotError::Damaged { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        UpperPool::adopt(&self.files)?.pool.remove_unlisted(&kept)?;
        Ok(())
    }
}
