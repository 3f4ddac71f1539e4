use std::io;
use std::thread::sleep;
use std::time::Duration;

use fs_err::File;
use rustix::fs::{FlockOperation, flock};

use super::Files;

/// The right to run, change or remove a sandbox. It is held from before the sandbox can be seen
/// until its machine has ended, passed from the process that creates it to the one that runs it.
#[derive(Debug)]
pub struct Lock(pub(crate) File);

impl Lock {
    /// Takes the lock, or `None` while another process holds it.
    pub(crate) fn take(files: &Files) -> io::Result<Option<Self>> {
        let file = open(files)?;
        // Whoever looks whether it is held has it for an instant.
        for _ in 0..LOOKS {
            if try_lock(&file, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Some(Self(file)));
            }
            sleep(LOOK_INTERVAL);
        }
        Ok(None)
    }

    /// Whether a process holds it.
    pub(crate) fn is_held(files: &Files) -> io::Result<bool> {
        let file = open(files)?;
        Ok(!try_lock(&file, FlockOperation::NonBlockingLockShared)?)
    }
}

/// The right to read a stopped sandbox's disks. Any number of processes may have it at once; none
/// has the [`Lock`] then.
#[derive(Debug)]
pub(crate) struct ReadLock(#[expect(dead_code, reason = "it is held, not used")] File);

impl ReadLock {
    /// Takes it, or `None` while another process has the sandbox's lock.
    pub(crate) fn take(files: &Files) -> io::Result<Option<Self>> {
        let file = open(files)?;
        let taken = try_lock(&file, FlockOperation::NonBlockingLockShared)?;
        Ok(taken.then_some(Self(file)))
    }
}

/// How often a lock that is held is tried before that counts, and how long between.
const LOOKS: u32 = 5;
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

fn open(files: &Files) -> io::Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(files.lock())
}

fn try_lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
