//! Owners of a sandbox: it ends with the last of them, however that ends.

use std::io;
use std::time::Duration;

use fs_err::{self as fs, File};
use msb_agent_protocol::{Client, Ownership};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::connect::ConnectError;
use super::lock::ChangeLock;
use super::{Sandbox, SandboxPaths, Spec, record};
use crate::launch_spec::AwaitedOwner;
use durable_files::flock;

/// The timeout for the supervisor's answers. It does not ask the guest.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The end of a sandbox whose last owner is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnOptions {
    /// The time that processes in the sandbox have to end themselves before they are killed.
    pub grace: Duration,
    /// True if the sandbox is removed once it has stopped and has no owner.
    pub remove: bool,
}

impl OwnOptions {
    /// Returns the owner that a VMM process awaits.
    pub(super) fn awaited(&self) -> AwaitedOwner {
        AwaitedOwner {
            grace_ms: u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// An owner of a running sandbox.
///
/// When the last owner is dropped, or its process ends in any way, the machine ends. If an owner
/// asked for it, the next [`sweep`](Sandbox::sweep) then removes the sandbox. The connection of an
/// owner is its own: other calls may fail without ending the ownership.
#[derive(Debug)]
pub struct Owner {
    sandbox: Sandbox,
    ownership: Ownership,
    _lock: OwnerLock,
}

impl Owner {
    /// Gives the ownership up: the sandbox runs on without this owner, and is kept once it has
    /// stopped, unless it was created to be removed then.
    ///
    /// # Errors
    /// If the sandbox's description cannot be written, or the supervisor does not answer. The
    /// ownership has then ended like that of a dropped owner.
    pub async fn release(self) -> Result<(), ConnectError> {
        let io_error = |source| self.sandbox.io_error(source);
        self.sandbox.remove_with_owner(false).map_err(io_error)?;
        match timeout(ANSWER_TIMEOUT, self.ownership.release()).await {
            Ok(released) => released.map_err(|source| self.sandbox.agent_error(source)),
            Err(_) => Err(self.sandbox.io_error(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl Sandbox {
    /// Becomes an owner of a running sandbox.
    ///
    /// # Errors
    /// If the sandbox is not running or is ending, or its description cannot be written.
    pub async fn own(&self, options: OwnOptions) -> Result<Owner, ConnectError> {
        self.expect_running()?;
        let io_error = |source| self.io_error(source);
        let lock = OwnerLock::take(&self.files).map_err(io_error)?;
        let stream = self.connect_to_socket().await?;
        self.own_through(stream, lock, options).await
    }

    /// Becomes an owner through a connection that the supervisor already has.
    pub(super) async fn own_through(
        &self,
        stream: UnixStream,
        lock: OwnerLock,
        options: OwnOptions,
    ) -> Result<Owner, ConnectError> {
        let agent_error = |source| self.agent_error(source);
        // A VMM process that is stopped for a while does not end the ownership.
        let client = Client::connect_without_limit(stream).await;
        let mut client = client.map_err(agent_error)?;
        let owned = timeout(ANSWER_TIMEOUT, client.own(options.grace)).await;
        let timed_out = |_| self.io_error(io::ErrorKind::TimedOut.into());
        let ownership = owned.map_err(timed_out)?.map_err(agent_error)?;
        if options.remove {
            // The machine ends if this fails, because the ownership is dropped.
            let marked = self.remove_with_owner(true);
            marked.map_err(|source| self.io_error(source))?;
        }
        Ok(Owner {
            sandbox: self.clone(),
            ownership,
            _lock: lock,
        })
    }

    /// Writes in the description that the sandbox is removed once it has stopped and has no owner,
    /// or that it is not.
    pub(super) fn remove_with_owner(&self, removed_with_owner: bool) -> io::Result<()> {
        let _change = ChangeLock::take(&self.files)?;
        let mut spec = Spec::read(&self.files.directory)?;
        if spec.removed_with_owner != removed_with_owner {
            spec.removed_with_owner = removed_with_owner;
            record::write(&self.files, &spec)?;
        }
        if !self.files.has_upper()? {
            // The sandbox was removed during the write; the new file describes no sandbox.
            let _ = fs::remove_dir_all(&self.files.directory);
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(())
    }
}

/// The mark that a process owns a sandbox, for as long as that process lives: a sandbox with an
/// owner is not swept. Several processes may hold it at once.
#[derive(Debug)]
pub(super) struct OwnerLock(#[expect(dead_code, reason = "it is held, not used")] File);

impl OwnerLock {
    pub(super) fn take(files: &SandboxPaths) -> io::Result<Self> {
        let file = durable_files::open_or_create(&files.owner_lock())?;
        // A sweep holds the lock for a moment.
        flock::wait(&file, flock::Kind::Shared)?;
        Ok(Self(file))
    }

    /// Returns true if a process owns the sandbox.
    pub(super) fn is_held(files: &SandboxPaths) -> io::Result<bool> {
        match File::open(files.owner_lock()) {
            Ok(file) => Ok(!flock::try_once(&file, flock::Kind::Exclusive)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;

    fn stopped(home: &Home) -> Sandbox {
        let sandbox = Sandbox::for_tests(home, Spec::for_tests("a"));
        fs::write(sandbox.files.upper(), []).expect("written");
        sandbox
    }

    #[test]
    fn a_sandbox_is_swept_once_its_owners_are_gone() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandbox = stopped(&home);
        let first = OwnerLock::take(&sandbox.files).expect("free");
        let second = OwnerLock::take(&sandbox.files).expect("shared");
        sandbox.remove_with_owner(true).expect("written");
        for owner in [first, second] {
            Sandbox::sweep(&home).expect("swept");
            assert!(sandbox.directory().exists(), "it still has an owner");
            drop(owner);
        }
        Sandbox::sweep(&home).expect("swept");
        assert!(!sandbox.directory().exists());
    }

    #[test]
    fn a_sandbox_whose_owner_gave_it_up_is_kept() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandbox = stopped(&home);
        sandbox.remove_with_owner(true).expect("written");
        sandbox.remove_with_owner(false).expect("written");
        Sandbox::sweep(&home).expect("swept");
        assert!(sandbox.directory().exists());
    }

    #[test]
    fn a_sandbox_that_was_removed_does_not_come_back() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandbox = stopped(&home);
        fs::remove_file(sandbox.files.upper()).expect("removed");
        let error = sandbox.remove_with_owner(true).expect_err("gone");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!sandbox.directory().exists());
    }

    #[tokio::test]
    async fn a_sandbox_that_is_not_running_gets_no_owner() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = stopped(&Home::new(root.path()));
        let options = OwnOptions {
            grace: Duration::ZERO,
            remove: true,
        };
        let refused = sandbox.own(options).await;
        assert!(matches!(refused, Err(ConnectError::NotRunning { .. })));
        let spec = Spec::read(sandbox.directory()).expect("read");
        assert!(!spec.removed_with_owner);
    }
}
