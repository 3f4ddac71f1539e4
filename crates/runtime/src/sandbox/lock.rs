use std::io;

use fs_err::File;

use super::Files;
use crate::flock;

/// The right to run, change or remove a sandbox. It is held from before the sandbox can be seen
/// until its machine has ended, passed from the process that creates it to the one that runs it.
#[derive(Debug)]
pub struct Lock(pub(crate) File);

impl Lock {
    /// Takes the lock, or `None` while another process holds it.
    pub(crate) fn take(files: &Files) -> io::Result<Option<Self>> {
        let file = open(files)?;
        let taken = flock::try_for_a_moment(&file, flock::Kind::Exclusive)?;
        Ok(taken.then_some(Self(file)))
    }

    /// Whether a process holds it.
    pub(crate) fn is_held(files: &Files) -> io::Result<bool> {
        let file = open(files)?;
        Ok(!flock::try_once(&file, flock::Kind::Shared)?)
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
        let taken = flock::try_once(&file, flock::Kind::Shared)?;
        Ok(taken.then_some(Self(file)))
    }
}

/// The right to change a sandbox's description, whether or not it runs. Nobody has it for longer than it
/// takes to write one.
#[derive(Debug)]
pub(super) struct ChangeLock(#[expect(dead_code, reason = "it is held, not used")] File);

impl ChangeLock {
    /// Waits for it.
    pub(super) fn take(files: &Files) -> io::Result<Self> {
        let directory = File::open(&files.directory)?;
        flock::wait(&directory, flock::Kind::Exclusive)?;
        Ok(Self(directory))
    }
}

fn open(files: &Files) -> io::Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(files.lock())
}
