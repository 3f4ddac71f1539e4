use std::io;

use fs_err::File;

use super::SandboxPaths;
use durable_files::flock;

/// The right to run, change or remove a sandbox.
/// It is held from before the sandbox is visible until its machine has ended. The process that
/// creates the sandbox passes it to the process that runs it.
#[derive(Debug)]
pub struct Lock(pub(crate) File);

impl Lock {
    /// Takes the lock; `None` while another process holds it. Creates the lock's file if it is
    /// missing.
    ///
    /// # Errors
    /// If the file of the lock cannot be opened.
    pub fn take(files: &SandboxPaths) -> io::Result<Option<Self>> {
        Self::take_of(open(files, true)?)
    }

    /// Takes the lock like `take`, but never creates its file.
    /// A missing file is an error of the kind `NotFound`, so that nothing appears in a directory
    /// that another process is removing.
    pub(crate) fn take_existing(files: &SandboxPaths) -> io::Result<Option<Self>> {
        Self::take_of(open(files, false)?)
    }

    fn take_of(file: File) -> io::Result<Option<Self>> {
        let taken = flock::try_for_a_moment(&file, flock::Kind::Exclusive)?;
        Ok(taken.then_some(Self(file)))
    }

    /// Returns true if a process holds the lock. The lock of a removed sandbox is not held.
    pub(crate) fn is_held(files: &SandboxPaths) -> io::Result<bool> {
        match open(files, false) {
            Ok(file) => Ok(!flock::try_once(&file, flock::Kind::Shared)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The right to read a stopped sandbox's disks.
/// Several processes may hold it at once; no process holds the [`Lock`] then.
#[derive(Debug)]
pub struct ReadLock(File);

impl ReadLock {
    /// Takes the right; `None` while another process holds the sandbox's lock.
    ///
    /// # Errors
    /// If the file of the lock cannot be opened.
    pub fn take(files: &SandboxPaths) -> io::Result<Option<Self>> {
        let file = open(files, true)?;
        let taken = flock::try_once(&file, flock::Kind::Shared)?;
        Ok(taken.then_some(Self(file)))
    }

    /// Makes it the [`Lock`]; `None` if another process reads the disks, too. Then the right to read is lost.
    pub(crate) fn upgrade(&self) -> io::Result<Option<Lock>> {
        // The lock belongs to the open file, which both values share.
        Lock::take_of(self.0.try_clone()?)
    }
}

/// The right to change the description of a sandbox, running or not.
/// It is held no longer than it takes to write a description.
#[derive(Debug)]
pub struct ChangeLock(#[expect(dead_code, reason = "it is held, not used")] File);

impl ChangeLock {
    /// Waits until the right is free, and takes it.
    ///
    /// # Errors
    /// If the file of the lock cannot be opened.
    pub fn take(files: &SandboxPaths) -> io::Result<Self> {
        let directory = File::open(&files.directory)?;
        flock::wait(&directory, flock::Kind::Exclusive)?;
        Ok(Self(directory))
    }
}

/// Opens the lock's file, and creates it if it is missing and `can_make` is set.
/// An existing file can be locked even if its filesystem has become read-only.
fn open(files: &SandboxPaths, can_make: bool) -> io::Result<File> {
    let opened = if can_make {
        durable_files::open_or_create(&files.lock())
    } else {
        File::options().read(true).write(true).open(files.lock())
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => File::open(files.lock()),
        opened => opened,
    }
}
