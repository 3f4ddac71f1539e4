//! A sandbox whose description cannot be read. It exists: it may run, it has an image and volumes, and
//! its user may remove it.

use std::io;
use std::time::{Duration, Instant};

use super::list::upper_allocated_bytes;
use super::listing::id_of;
use super::machine_process::MachineProcess;
use super::record::{RecordError, Remains};
use super::remove::remove_directory;
use super::{Lock, RemoveError, SandboxPaths};

/// The time for the host's kernel to end a killed process, as for other sandboxes.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval at which its lock is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A sandbox on this host whose description cannot be read.
#[derive(Debug, Clone)]
pub struct UnreadableSandbox {
    id: String,
    remains: Remains,
    error: RecordError,
    files: SandboxPaths,
}

impl UnreadableSandbox {
    pub(super) fn new(files: SandboxPaths, error: RecordError, remains: Remains) -> Self {
        Self {
            id: id_of(&files.directory),
            remains,
            error,
            files,
        }
    }

    /// Returns the sandbox's id, which its directory has as its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the sandbox's name if that is known, or else its id.
    pub fn name(&self) -> &str {
        self.remains.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns the digest of its image's manifest; `None` if it is unknown.
    pub fn image_digest(&self) -> Option<&str> {
        self.remains.image_digest.as_deref()
    }

    /// Returns the reason that the description cannot be read.
    pub const fn error(&self) -> &RecordError {
        &self.error
    }

    /// Returns the sandbox's directory.
    pub fn directory(&self) -> &std::path::Path {
        &self.files.directory
    }

    /// Returns the size that the upper disk takes on the host's disk, with its snapshots, in bytes.
    ///
    /// # Errors
    /// If the upper disk does not exist.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        upper_allocated_bytes(&self.files)
    }

    /// Returns true if a process holds the sandbox's lock.
    ///
    /// # Errors
    /// If the lock cannot be opened.
    pub fn is_running(&self) -> io::Result<bool> {
        Lock::is_held(&self.files)
    }

    /// Ends the machine, if it runs, as a power cut would. Blocks.
    ///
    /// # Errors
    /// If the VMM process cannot be found or killed.
    pub fn kill(&self) -> io::Result<()> {
        let Some(machine) = MachineProcess::find(&self.files)? else {
            return Ok(());
        };
        machine.kill()?;
        let deadline = Instant::now() + KILL_TIMEOUT;
        while self.is_running()? {
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Removes the sandbox, which does not run, and its disks, durably.
    ///
    /// # Errors
    /// If it runs, or its directory cannot be removed.
    pub fn remove(&self) -> Result<(), RemoveError> {
        remove_directory(&self.files, self.name(), true)
    }
}
