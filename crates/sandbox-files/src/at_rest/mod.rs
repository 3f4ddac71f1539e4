//! Sandboxes whose writable disk does not change while it is read: stopped ones, snapshots, and disks that
//! are cut while a running guest has them frozen.

mod error;

use std::io;

use msb_runtime::{ConnectError, ReadLock, Sandbox};
use msb_sandbox_snapshots::{OpenState, SandboxSnapshots, SnapshotError};

pub use error::AtRestError;

/// A sandbox whose writable disk does not change while this value lives.
#[derive(Debug)]
pub struct SandboxAtRest {
    pub(crate) sandbox: Sandbox,
    pub(crate) disk: DiskAtRest,
}

/// A writable disk that nobody writes to.
#[derive(Debug)]
pub(crate) enum DiskAtRest {
    /// The disk of a stopped sandbox, which cannot be started.
    Stopped(ReadLock),
    /// The disk as it is in a snapshot, or was when it was cut: no process writes to it again, whether the sandbox runs or not.
    Snapshot(Box<OpenState>),
}

impl SandboxAtRest {
    /// Returns the sandbox at rest. If it runs and `can_freeze` is true, its disk is cut while its guest has it
    /// frozen: processes in the guest that write to it wait meanwhile.
    ///
    /// # Errors
    /// If the sandbox runs, and its disk may not be frozen, the guest does not freeze it, or it cannot be cut.
    pub async fn open(sandbox: &Sandbox, can_freeze: bool) -> Result<Self, AtRestError> {
        let name = || sandbox.spec.name.clone();
        // Before a running guest is frozen.
        sandbox.check_has_changes()?;
        let stopped = Self::stopped(sandbox);
        let stopped = stopped.map_err(|source| AtRestError::Lock {
            name: name(),
            source,
        })?;
        match stopped {
            Some(stopped) => Ok(stopped),
            None if can_freeze => Self::cut(sandbox).await,
            None => Err(AtRestError::Running { name: name() }),
        }
    }

    /// Returns the sandbox as it is in a snapshot, to be read. It may run meanwhile, and the snapshot may
    /// be removed: its files are open.
    ///
    /// # Errors
    /// If there is no such snapshot, or its record or a generation is damaged.
    pub fn open_snapshot(sandbox: &Sandbox, name: &str) -> Result<Self, SnapshotError> {
        let disk = SandboxSnapshots::new(sandbox.clone()).open_snapshot(name)?;
        Ok(Self {
            sandbox: sandbox.clone(),
            disk: DiskAtRest::Snapshot(Box::new(disk)),
        })
    }

    /// Returns the sandbox at rest if it is stopped; `None` if it runs.
    pub(crate) fn stopped(sandbox: &Sandbox) -> io::Result<Option<Self>> {
        let lock = sandbox.read_lock()?;
        Ok(lock.map(|lock| Self {
            sandbox: sandbox.clone(),
            disk: DiskAtRest::Stopped(lock),
        }))
    }

    /// Returns the running sandbox with its disk as it is now, cut while the guest has it frozen.
    async fn cut(sandbox: &Sandbox) -> Result<Self, AtRestError> {
        let name = sandbox.spec.name.clone();
        match SandboxSnapshots::new(sandbox.clone()).frozen_disk().await {
            Ok(Some(disk)) => Ok(Self {
                sandbox: sandbox.clone(),
                disk: DiskAtRest::Snapshot(Box::new(disk)),
            }),
            Ok(None) => Err(AtRestError::NotFrozen { name }),
            // It has ended meanwhile.
            Err(SnapshotError::Connect(ConnectError::NotRunning { .. })) => {
                let stopped = Self::stopped(sandbox).map_err(|source| AtRestError::Lock {
                    name: name.clone(),
                    source,
                })?;
                stopped.ok_or(AtRestError::Running { name })
            }
            Err(source) => Err(AtRestError::Cut { name, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;
    use msb_runtime::{Home, UpperPool};

    use super::*;
    use testkit::sandboxes::{self, spec};

    fn sandbox(home: &Home) -> Sandbox {
        let sandbox = sandboxes::sandbox(home, spec("a"));
        fs::write(sandbox.files.upper(), [7; 4096]).expect("written");
        UpperPool::adopt(&sandbox.files).expect("adopted");
        sandbox
    }

    #[tokio::test]
    async fn a_running_sandbox_is_at_rest_only_if_it_may_be_frozen() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(&Home::new(root.path()));
        let stopped = SandboxAtRest::open(&sandbox, false).await.expect("stopped");
        assert!(matches!(stopped.disk, DiskAtRest::Stopped(_)));
        assert!(sandbox.lock().expect("a lock file").is_none());
        drop(stopped);
        let _held = sandbox.lock().expect("a lock file").expect("free");
        let refused = SandboxAtRest::open(&sandbox, false).await;
        assert!(matches!(refused, Err(AtRestError::Running { .. })));
        // Nothing serves its socket.
        let refused = SandboxAtRest::open(&sandbox, true).await;
        assert!(matches!(refused, Err(AtRestError::Cut { .. })));
    }
}
