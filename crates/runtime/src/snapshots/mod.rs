//! Snapshots of stopped sandboxes.
//!
//! The first snapshot makes the raw disk of a sandbox a disk of generations, without a copy. A snapshot
//! is a record that names the generations of one moment; it is written after they are durable, and
//! removed before they are.

mod error;
mod name;
mod record;
#[cfg(test)]
mod tests;

use durable_files::now_s;
use generations::State;

pub use error::SnapshotError;
pub use name::{InvalidSnapshotName, SnapshotName};
use record::Records;
pub use record::Snapshot;

use crate::Sandbox;
use crate::sandbox::{Lock, UpperPool};

/// A rollback that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// The snapshot that the disk has the content of.
    pub to: Snapshot,
    /// The snapshot of the disk as it was before.
    pub kept: Snapshot,
}

impl Sandbox {
    /// Takes a snapshot of the stopped sandbox's disk. Without a name it gets its number.
    ///
    /// It copies nothing. A process that is killed, and a power cut, leave the snapshot or none.
    ///
    /// # Errors
    /// If the sandbox runs, has a snapshot of this name, or its disk or the record cannot be written.
    pub fn create_snapshot(
        &self,
        name: Option<SnapshotName>,
        message: Option<String>,
    ) -> Result<Snapshot, SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        sandbox.keep_state(name, message, false)
    }

    /// Returns the snapshots, the oldest first.
    ///
    /// # Errors
    /// If a record cannot be read or is damaged.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, SnapshotError> {
        Records::new(&self.files).all()
    }

    /// Returns the snapshot with this name; the newest one if `None`.
    ///
    /// # Errors
    /// If there is none, or a record cannot be read or is damaged.
    pub fn snapshot(&self, name: Option<&str>) -> Result<Snapshot, SnapshotError> {
        let sandbox = || self.spec.name.clone();
        let mut all = self.snapshots()?;
        let Some(name) = name else {
            let newest = all.pop();
            return newest.ok_or_else(|| SnapshotError::Empty { sandbox: sandbox() });
        };
        let found = all
            .into_iter()
            .find(|snapshot| snapshot.name.as_str() == name);
        found.ok_or_else(|| SnapshotError::Missing {
            sandbox: sandbox(),
            name: name.to_owned(),
        })
    }

    /// Removes a snapshot of the stopped sandbox, and the generations that neither its disk nor another
    /// snapshot has.
    ///
    /// # Errors
    /// If the sandbox runs, has no such snapshot, or a file cannot be removed. Once the record is
    /// removed, the snapshot is; generations that are left go with the next removal.
    pub fn remove_snapshot(&self, name: &str) -> Result<(), SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        let found = sandbox.snapshot(Some(name))?;
        let records = Records::new(&sandbox.files);
        records.remove(&found.name)?;
        let kept = records.all()?;
        let kept = kept.iter().map(|one| one.state(records.path(&one.name)));
        let kept: Vec<State> = kept.collect::<Result<_, _>>()?;
        let pool = UpperPool::adopt(&sandbox.files)?;
        pool.pool.remove_unlisted(&kept)?;
        Ok(())
    }

    /// Gives the stopped sandbox's disk the content of a snapshot; of the newest one if `None`. The disk
    /// as it was before becomes an automatic snapshot.
    ///
    /// # Errors
    /// If the sandbox runs, has no such snapshot, or its disk or a record cannot be written. If the disk
    /// cannot be set to the snapshot, the automatic one stays.
    pub fn roll_back(&self, name: Option<&str>) -> Result<RolledBack, SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        let to = sandbox.snapshot(name)?;
        let state = to.state(Records::new(&sandbox.files).path(&to.name))?;
        let message = format!("before the rollback to {}", to.name);
        let kept = sandbox.keep_state(None, Some(message), true)?;
        UpperPool::adopt(&sandbox.files)?.roll_back(&state)?;
        Ok(RolledBack { to, kept })
    }

    /// Takes the lock of the sandbox, which must not run.
    fn claim_stopped(&self) -> Result<(Self, Lock), SnapshotError> {
        self.claim()?.ok_or_else(|| SnapshotError::Running {
            name: self.spec.name.clone(),
        })
    }

    /// Keeps the disk as it is, as a snapshot. The caller holds the sandbox's lock.
    fn keep_state(
        &self,
        name: Option<SnapshotName>,
        message: Option<String>,
        is_automatic: bool,
    ) -> Result<Snapshot, SnapshotError> {
        let records = Records::new(&self.files);
        let all = records.all()?;
        let number = all
            .last()
            .map_or(1, |newest| newest.number.saturating_add(1));
        let name = name.unwrap_or_else(|| SnapshotName::numbered(number));
        if all.iter().any(|snapshot| snapshot.name == name) {
            return Err(SnapshotError::Exists {
                sandbox: self.spec.name.clone(),
                name,
            });
        }
        let mut disk = UpperPool::adopt(&self.files)?.open()?;
        let state = disk.cut()?;
        // The state is durable only then, and the record must not be before.
        disk.flush()?;
        let snapshot = Snapshot {
            name,
            number,
            created_s: now_s(),
            message,
            is_automatic,
            size_bytes: state.size_bytes,
            image_digest: self.spec.image_digest.clone(),
            state: hex::encode(state.to_bytes()),
        };
        records.add(&snapshot)?;
        Ok(snapshot)
    }
}
