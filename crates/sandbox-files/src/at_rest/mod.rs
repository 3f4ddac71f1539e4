//! Sandboxes whose writable disk does not change while it is read: stopped ones, snapshots, and disks that
//! are copied or cut while a running guest has them frozen.

mod error;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use msb_agent_protocol::Client;
use msb_runtime::{ConnectError, DiskCopyError, ReadLock, Sandbox, UpperPool, copy_disk};
use msb_sandbox_snapshots::{OpenState, SandboxSnapshots, SnapshotError};
use tokio::sync::oneshot;
use tokio::time::timeout;

pub use error::AtRestError;

/// The time for which a guest keeps its disk frozen, which is the most that its agent takes.
const FREEZE_LIMIT: Duration = Duration::from_secs(60);
/// The timeout for a frozen disk. Another client may have it frozen until then, and the guest first
/// writes what is dirty.
const FREEZE_TIMEOUT: Duration = Duration::from_secs(180);
/// The timeout for the answer to a thaw.
const THAW_TIMEOUT: Duration = Duration::from_secs(30);

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
    /// A copy of the disk of a running sandbox. It has no name, so it goes with this process.
    Copied(File),
    /// The disk as it is in a snapshot, or was when it was cut: no process writes to it again, whether the sandbox runs or not.
    Snapshot(Box<OpenState>),
}

impl SandboxAtRest {
    /// Returns the sandbox at rest. If it runs and `can_freeze` is true, its guest freezes the
    /// writable disk and the disk is copied, or cut if it is one of generations: processes in the guest
    /// that write to it wait meanwhile.
    ///
    /// # Errors
    /// If the sandbox runs and its disk may not be frozen, the guest does not freeze it for as long
    /// as the copy takes, or the host has no room for the copy.
    pub async fn open(sandbox: &Sandbox, can_freeze: bool) -> Result<Self, AtRestError> {
        let lock_error = |source| AtRestError::Lock {
            name: sandbox.spec.name.clone(),
            source,
        };
        // Before a running guest is frozen.
        sandbox.check_has_changes()?;
        let running = || AtRestError::Running {
            name: sandbox.spec.name.clone(),
        };
        if let Some(stopped) = Self::stopped(sandbox).map_err(lock_error)? {
            return Ok(stopped);
        }
        if !can_freeze {
            return Err(running());
        }
        if UpperPool::find(&sandbox.files)
            .map_err(lock_error)?
            .is_some()
        {
            return Self::cut(sandbox).await;
        }
        match sandbox.connect().await {
            Ok(mut client) => Ok(Self {
                sandbox: sandbox.clone(),
                disk: DiskAtRest::Copied(Self::copy_frozen(sandbox, &mut client).await?),
            }),
            // It has ended meanwhile.
            Err(ConnectError::NotRunning { .. }) => Self::stopped(sandbox)
                .map_err(lock_error)?
                .ok_or_else(running),
            Err(source) => Err(AtRestError::Connect {
                name: sandbox.spec.name.clone(),
                source,
            }),
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

    /// Copies the disk while the guest has it frozen. The guest thaws it at every end of this call.
    async fn copy_frozen(sandbox: &Sandbox, client: &mut Client) -> Result<File, AtRestError> {
        let name = &sandbox.spec.name;
        let agent_error = |source| AtRestError::Agent {
            name: name.clone(),
            source,
        };
        let silent = |limit: Duration| AtRestError::Silent {
            name: name.clone(),
            limit_s: limit.as_secs(),
        };
        let freezing = timeout(FREEZE_TIMEOUT, client.freeze(FREEZE_LIMIT)).await;
        let frozen = freezing.map_err(|_| silent(FREEZE_TIMEOUT))?;
        let frozen = frozen.map_err(agent_error)?;
        let copied = Self::copy_until(sandbox, Instant::now() + FREEZE_LIMIT).await;
        let copied = copied.map_err(|error| Self::copy_error(sandbox, error))?;
        let thawing = timeout(THAW_TIMEOUT, frozen.thaw()).await;
        let was_frozen = thawing.map_err(|_| silent(THAW_TIMEOUT))?;
        if was_frozen.map_err(agent_error)? {
            Ok(copied)
        } else {
            Err(AtRestError::Thawed { name: name.clone() })
        }
    }

    /// Copies the disk on a thread that may block, until a deadline or until nobody waits any more.
    async fn copy_until(sandbox: &Sandbox, deadline: Instant) -> Result<File, DiskCopyError> {
        let (disk, directory): (PathBuf, PathBuf) =
            (sandbox.files.upper(), sandbox.files.directory.clone());
        let (sender, copied) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let is_over = || sender.is_closed() || Instant::now() >= deadline;
            let copied = copy_disk(&disk, &directory, &is_over);
            // The caller may have given up.
            let _ = sender.send(copied);
        });
        let panicked = |_| DiskCopyError::Io(io::Error::other("the copying thread panicked"));
        copied.await.map_err(panicked)?
    }

    fn copy_error(sandbox: &Sandbox, error: DiskCopyError) -> AtRestError {
        let name = sandbox.spec.name.clone();
        match error {
            DiskCopyError::Io(source) => AtRestError::Copy { name, source },
            DiskCopyError::Full {
                needed_bytes,
                free_bytes,
            } => AtRestError::Full {
                name,
                needed_bytes,
                free_bytes,
            },
            DiskCopyError::Over => AtRestError::Slow {
                name,
                limit_s: FREEZE_LIMIT.as_secs(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;
    use msb_runtime::Home;

    use super::*;
    use testkit::sandboxes::{self, spec};

    fn sandbox(home: &Home) -> Sandbox {
        let sandbox = sandboxes::sandbox(home, spec("a"));
        fs::write(sandbox.files.upper(), "disk").expect("written");
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
        assert!(matches!(refused, Err(AtRestError::Connect { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_that_never_answers_is_given_up() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(&Home::new(root.path()));
        let (host, _guest) = tokio::io::duplex(1 << 16);
        let mut client = Client::connect(host).await.expect("connected");
        let refused = SandboxAtRest::copy_frozen(&sandbox, &mut client).await;
        let error = refused.expect_err("silence");
        assert!(
            matches!(error, AtRestError::Silent { limit_s: 180, .. }),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_copy_ends_at_its_deadline() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandbox(&Home::new(root.path()));
        let copied = SandboxAtRest::copy_until(&sandbox, Instant::now()).await;
        assert!(matches!(copied, Err(DiskCopyError::Over)));
        let later = Instant::now() + FREEZE_LIMIT;
        SandboxAtRest::copy_until(&sandbox, later)
            .await
            .expect("copied");
    }
}
