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
        if let Some(kept) = self.kept_states()? {
            let pool = UpperPool::adopt(&self.files)?;
            pool.pool.remove_unlisted(&kept)?;
        }
        Ok(())
    }

    /// Returns the states of all snapshots; `None` if a record is damaged, so that its state is unknown.
    fn kept_states(&self) -> Result<Option<Vec<State>>, SnapshotError> {
        let records = Records::new(&self.files);
        let mut kept = Vec::new();
        for name in records.names()? {
            let state = records
                .read(&name)
                .and_then(|one| one.state(records.path(&name)));
            match state {
                Ok(state) => kept.push(state),
                Err(SnapshotError::Damaged { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(kept))
    }
}
