//! Locks of files, which go with whoever holds them.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use fs_err::File;
use rustix::fs::{FlockOperation, flock};

/// How often a lock that is held is tried before that counts, and how long between: whoever looks whether
/// it is held has it for an instant.
const LOOKS: u32 = 5;
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// With whom a lock is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With everybody who shares it too.
    Shared,
    /// With nobody.
    Exclusive,
}

/// Waits until the lock can be had.
pub(crate) fn wait(file: &File, kind: Kind) -> io::Result<()> {
    let operation = match kind {
        Kind::Shared => FlockOperation::LockShared,
        Kind::Exclusive => FlockOperation::LockExclusive,
    };
    Ok(flock(file, operation)?)
}

/// Whether the lock could be had just now.
pub(crate) fn try_once(file: &File, kind: Kind) -> io::Result<bool> {
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

/// Whether the lock could be had, those who only look at it set aside.
pub(crate) fn try_for_a_moment(file: &File, kind: Kind) -> io::Result<bool> {
    for _ in 0..LOOKS {
        if try_once(file, kind)? {
            return Ok(true);
        }
        sleep(LOOK_INTERVAL);
    }
    Ok(false)
}
