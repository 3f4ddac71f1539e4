//! The process that runs a sandbox's machine. The host's kernel names the holder of a lock.
//! A number in a file is not believed, because it outlives its process.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use fs_err::{self as fs, File};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{
    Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, getpgid, kill_process_group,
    pidfd_open, pidfd_send_signal,
};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::SandboxPaths;

/// The mark of the process that runs a sandbox's machine, for as long as that process lives.
/// It is a record lock (`F_SETLK`), which belongs to one process and is not inherited. The lock
/// goes when this process closes any descriptor of the file, so nothing else opens that file.
#[derive(Debug)]
pub struct MachineLock(#[expect(dead_code, reason = "it is held, not used")] File);

impl MachineLock {
    /// Takes the lock for this process.
    ///
    /// # Errors
    /// Another process that runs the machine, or a file that cannot be opened.
    pub fn take(files: &SandboxPaths) -> io::Result<Self> {
        let file = durable_files::open_or_create(&files.machine_lock())?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(Errno::AGAIN | Errno::ACCESS) => {
                Err(io::Error::other("another process holds the machine's lock"))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The process that runs the machine of a sandbox.
/// Its handle (a pidfd) never refers to another process, even if the process id is reused.
#[derive(Debug)]
pub(crate) struct MachineProcess {
    id: Pid,
    handle: OwnedFd,
}

impl MachineProcess {
    /// Finds the process; `None` if no process holds the machine's lock, or not yet.
    ///
    /// # Errors
    /// A kernel that cannot be asked, or a process in another PID namespace.
    pub(crate) fn find(files: &SandboxPaths) -> io::Result<Option<Self>> {
        let file = match File::open(files.machine_lock()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let Some(id) = holder(&file)? else {
            return Ok(None);
        };
        let handle = match pidfd_open(id, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(None),
            opened => opened?,
        };
        // Between the two calls the id may have passed to another process, which does not hold the
        // lock.
        let is_still_its = holder(&file)? == Some(id);
        Ok(is_still_its.then_some(Self { id, handle }))
    }

    /// Returns the process id, for reading the process's statistics.
    pub(crate) const fn id(&self) -> Pid {
        self.id
    }

    /// Kills the process and the others of its group: the network and the shares.
    ///
    /// # Errors
    /// If a process may not be signalled.
    pub(crate) fn kill(&self) -> io::Result<()> {
        // The process group keeps the id of its leader while the leader exists.
        if !self.has_ended()? && getpgid(Some(self.id)) == Ok(self.id) {
            gone_is_fine(kill_process_group(self.id, Signal::KILL))?;
        }
        gone_is_fine(pidfd_send_signal(&self.handle, Signal::KILL))
    }

    /// Returns true if a signal or a debugger has stopped the process.
    pub(crate) fn is_stopped(&self) -> bool {
        let path = format!("/proc/{}/stat", self.id.as_raw_nonzero());
        let Ok(status) = fs::read_to_string(path) else {
            return false;
        };
        // The name of the program, in parentheses, may contain anything.
        let state = status
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        matches!(state, Some('T' | 't'))
    }

    /// Waits until the process has ended, without looking at it again and again.
    ///
    /// # Errors
    /// If the event loop cannot watch the process.
    #[expect(
        deprecated,
        reason = "the other constructors are unsafe; the descriptor stays open while it is watched"
    )]
    pub(crate) async fn ended(&self) -> io::Result<()> {
        let handle = AsyncFd::with_interest(self.handle.as_fd(), Interest::READABLE)?;
        handle.readable().await.map(drop)
    }

    /// Returns true if the process has ended, even if its parent has not reaped it.
    fn has_ended(&self) -> io::Result<bool> {
        let mut ended = [PollFd::new(&self.handle, PollFlags::IN)];
        Ok(poll(&mut ended, Some(&Timespec::default()))? > 0)
    }
}

/// Returns the id of the process that holds a machine's lock; `None` if the lock is free.
fn holder(file: &File) -> io::Result<Option<Pid>> {
    let Some(held) = fcntl_getlk(file, &Flock::from(FlockType::WriteLock))? else {
        return Ok(None);
    };
    // The kernel reports 0 if this process cannot see the holder.
    let unseen =
        || io::Error::other("its process is in another PID namespace, such as that of a container");
    held.pid.map(Some).ok_or_else(unseen)
}

fn gone_is_fine(sent: rustix::io::Result<()>) -> io::Result<()> {
    match sent {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
