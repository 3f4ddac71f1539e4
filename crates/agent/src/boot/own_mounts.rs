//! `/run/msb`, the directory of the agent's own mounts: a small filesystem in memory.
//!
//! It is held open, because `/run` is on the writable disk: root in the guest may rename it, or mount
//! something over it, as systemd does.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use guest_container::mount_point;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, fchmod, fstat, mkdirat,
    openat, openat2, unlinkat, utimensat,
};
use rustix::mount::{MountFlags, mount};

use super::BootError;
use super::error::step;
use super::mounts::open_root;

/// The directory's path in the sandbox, without the slash at its start.
const PATH: &str = "run/msb";
const PARENT: &str = "run";
/// The limit of the files below `etc`, of which added hosts are the largest.
const OPTIONS: &std::ffi::CStr = c"mode=700,size=8M";

/// The open directory; `None` while the root is not mounted.
static DIRECTORY: Mutex<Option<Arc<OwnedFd>>> = Mutex::new(None);

/// Mounts the directory in the new root.
pub(super) fn mount_directory() -> Result<(), BootError> {
    const ACTION: &str = "mount /run/msb";
    let root = open_root()?;
    let point = make_point(&root).map_err(step(ACTION))?;
    let path = descriptor_path(&point);
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", path, "tmpfs", flags, OPTIONS).map_err(step(ACTION))?;
    // The descriptor of the mount point refers to the directory below the new mount.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat2(&root, PATH, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    let directory = directory.map_err(step(ACTION))?;
    *DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(directory));
    Ok(())
}

/// Makes `/run/msb` if it is missing. `/run` keeps its times, which the image has set.
fn make_point(root: &OwnedFd) -> io::Result<OwnedFd> {
    let parent = mount_point(root, Path::new(PARENT))?;
    let before = fstat(&parent)?;
    let point = mount_point(root, Path::new(PATH))?;
    let after = fstat(&parent)?;
    if (before.st_mtime, before.st_mtime_nsec) != (after.st_mtime, after.st_mtime_nsec) {
        utimensat(
            CWD,
            descriptor_path(&parent),
            &times(&before)?,
            AtFlags::empty(),
        )?;
    }
    Ok(point)
}

fn times(stat: &Stat) -> io::Result<Timestamps> {
    let time = |seconds, nanoseconds: u64| {
        let tv_nsec = nanoseconds.try_into().map_err(io::Error::other)?;
        Ok::<_, io::Error>(Timespec {
            tv_sec: seconds,
            tv_nsec,
        })
    };
    Ok(Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec)?,
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec)?,
    })
}

/// Makes a directory in `/run/msb`, to mount something on it. Returns its path.
pub(crate) fn point(name: &str, mode: u32) -> io::Result<PathBuf> {
    let directory = directory()?;
    mkdirat(&directory, name, Mode::from_raw_mode(mode))?;
    // The umask does not count.
    fchmod(open(name)?, Mode::from_raw_mode(mode))?;
    Ok(path_in(&directory, name))
}

/// Removes a directory in `/run/msb` on which nothing is mounted.
pub(crate) fn remove(name: &str) -> io::Result<()> {
    Ok(unlinkat(directory()?, name, AtFlags::REMOVEDIR)?)
}

/// Opens a directory in `/run/msb`.
pub(crate) fn open(name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(directory()?, name, flags, Mode::empty())?)
}

/// Returns the path of an entry of `/run/msb`; `None` while the root is not mounted.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    directory().ok().map(|directory| path_in(&directory, name))
}

/// Returns `/run/msb` itself.
///
/// # Errors
/// If the root is not mounted.
pub(crate) fn directory() -> io::Result<Arc<OwnedFd>> {
    let directory = DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner);
    directory.clone().ok_or(io::ErrorKind::NotFound.into())
}

/// Closes the directory, which would keep its filesystem in use.
pub(crate) fn close() {
    *DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

fn path_in(directory: &OwnedFd, name: &str) -> PathBuf {
    descriptor_path(directory).join(name)
}

fn descriptor_path(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
