//! Disks that libkrun finds under a path.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};
use served_disk::Disk;

/// A disk that another thread may be given.
pub(crate) type AnyDisk = Box<dyn Disk + Send>;

/// The disks that are registered and not open yet.
static REGISTERED: Mutex<BTreeMap<PathBuf, AnyDisk>> = Mutex::new(BTreeMap::new());

/// The registration of a disk. It ends with this value, unless the disk is open by then.
#[derive(Debug)]
pub struct Registered {
    path: PathBuf,
    /// The empty file that the path leads to: libkrun opens a path before this crate does.
    _file: OwnedFd,
}

/// Registers a disk under a path of its own. Whoever opens the path as a raw disk has the disk.
///
/// The path leads to a file in memory, which a confined thread may open: it has no name that
/// Landlock could forbid.
///
/// # Errors
/// If the file cannot be made.
pub fn register(disk: Box<dyn Disk + Send>) -> io::Result<Registered> {
    let file = memfd_create("msb-disk", MemfdFlags::CLOEXEC)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    disks().insert(path.clone(), disk);
    Ok(Registered { path, _file: file })
}

impl Registered {
    /// Returns the path, which leads to the disk for this process alone.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // The descriptor's number is free afterwards, and with it the path.
        let _ = disks().remove(&self.path);
    }
}

/// Returns the disk of a path, which is not registered any more; `None` for any other path.
pub(crate) fn take(path: &Path) -> Option<AnyDisk> {
    disks().remove(path)
}

fn disks() -> MutexGuard<'static, BTreeMap<PathBuf, AnyDisk>> {
    // Each change is one call, so a thread that panicked left nothing half done.
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}
