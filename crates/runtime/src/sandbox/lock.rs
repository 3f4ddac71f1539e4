use std::fs::File;
use std::io;

use rustix::fs::{FlockOperation, flock};

use super::Files;

/// The right to run, change or remove a sandbox. It is held from before the sandbox can be seen
/// until its machine has ended, passed from the process that creates it to the one that runs it.
#[derive(Debug)]
pub struct Lock(pub(crate) File);

impl Lock {
    /// Takes the lock, or `None` while another process holds it.
    pub(crate) fn take(files: &Files) -> io::Result<Option<Self>> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(files.lock())?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
