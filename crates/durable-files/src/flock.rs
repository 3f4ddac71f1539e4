//! Locks of files, which end with their holders.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use fs_err::File;
use rustix::fs::{FlockOperation, flock};

/// The number of attempts to take a held lock, and the interval between them: a probe holds the
/// lock for an instant.
const LOOKS: u32 = 5;
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The sharing of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Other holders of a shared lock are possible.
    Shared,
    /// No other holder is possible.
    Exclusive,
}

/// Waits until the lock is free, and takes it.
///
/// # Errors
/// If the lock cannot be taken.
pub fn wait(file: &File, kind: Kind) -> io::Result<()> {
    let operation = match kind {
        Kind::Shared => FlockOperation::LockShared,
        Kind::Exclusive => FlockOperation::LockExclusive,
    };
    Ok(flock(file, operation)?)
}

/// Returns true if the lock was free and is now taken.
///
/// # Errors
/// If the lock cannot be taken.
pub fn try_once(file: &File, kind: Kind) -> io::Result<bool> {
    let operation = match kind {
        Kind::Shared => FlockOperation::NonBlockingLockShared,
        Kind::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if the lock is now taken. Probes that hold it for a moment are waited for.
///
/// # Errors
/// If the lock cannot be taken.
pub fn try_for_a_moment(file: &File, kind: Kind) -> io::Result<bool> {
    for _ in 0..LOOKS {
        if try_once(file, kind)? {
            return Ok(true);
        }
        sleep(POLL_INTERVAL);
    }
    Ok(false)
}
