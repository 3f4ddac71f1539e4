#![expect(unsafe_code, reason = "the request of block devices has no safe form")]
//! The way back from the sandbox's root to the boot disk, after which no disk is in use.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open, sync};
use rustix::io::Errno;
use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{chdir, fchdir, pivot_root};
use tokio::sync::oneshot;

use crate::boot::{BOOT_ROOT, OLD_ROOT, kept_mounts, own_mounts, written_devices};
use crate::{console, questions, sockets, trim};

/// The time that the kernel may take to release a disk.
pub(crate) const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// `BLKFLSBUF` (uapi/linux/fs.h), which drops what the kernel has cached of a device.
const DROP_BUFFERS: Opcode = opcode::none(0x12, 97);

/// True while the boot disk is the root.
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// The reason why the root cannot be unmounted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnmountError {
    #[error("cannot make the boot disk the root")]
    Leave(#[from] io::Error),
    #[error("the disk {device} is still in use")]
    InUse { device: String },
    #[error("cannot drop the cache of the disk {device}")]
    Cached { device: String, source: Errno },
}

/// Gives free space of the disks back, then unmounts them. A failure is reported on the console.
pub(crate) fn unmount_for_good() {
    sync();
    if !IS_LEFT.load(Ordering::Relaxed) {
        for mount in kept_mounts() {
            if let Err(error) = trim::give_back(&mount) {
                console::log(&format!("cannot trim {}: {error}", mount.display()));
            }
        }
        if let Err(error) = leave_root() {
            console::log(&format!("cannot unmount the root: {error}"));
        }
    }
    for device in written_devices() {
        if let Err(error) = wait_for_release(device) {
            console::log(&console::chain(&error));
        }
    }
    sync();
}

/// Unmounts all disks, and drops what the kernel has cached of them: another content may lie on them
/// when they are mounted again.
pub(crate) fn unmount_for_a_while() -> Result<(), UnmountError> {
    leave_root()?;
    for device in written_devices() {
        let released = wait_for_release(device.clone())?;
        // SAFETY: the request has no argument.
        let dropped = unsafe { ioctl(&released, NoArg::<DROP_BUFFERS>::new()) };
        dropped.map_err(|source| UnmountError::Cached { device, source })?;
    }
    Ok(())
}

/// Notes that the sandbox's root is the root again.
pub(crate) fn note_mounted() {
    IS_LEFT.store(false, Ordering::Relaxed);
}

/// Runs work on a thread of its own: disks may take longer than the host waits for an agent that answers no
/// ping. `None` if there is no such thread, or it panicked.
pub(crate) async fn beside_pings<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = oneshot::channel();
    let work = move || {
        // The event loop waits for this result.
        let _ = done.send(work());
    };
    match Builder::new().spawn(work) {
        Ok(_) => result.await.ok(),
        Err(error) => {
            console::log(&format!("cannot start a thread: {error}"));
            None
        }
    }
}

/// Makes the boot disk the root again, so that overlay, upper disk and image have no users.
fn leave_root() -> io::Result<()> {
    fchdir(own_mounts::open(BOOT_ROOT)?)?;
    let old = OLD_ROOT.trim_start_matches('/');
    pivot_root(".", old)?;
    IS_LEFT.store(true, Ordering::Relaxed);
    chdir("/")?;
    own_mounts::close();
    questions::close();
    sockets::close();
    Ok(unmount(OLD_ROOT, UnmountFlags::DETACH)?)
}

/// Waits until a disk is released: an exclusive open of its device succeeds once it is not mounted.
/// Returns the open device.
pub(crate) fn wait_for_release(device: String) -> Result<OwnedFd, UnmountError> {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    loop {
        match open(&device, flags, Mode::empty()) {
            Ok(released) => return Ok(released),
            Err(Errno::BUSY) if Instant::now() < deadline => sleep(POLL_INTERVAL),
            Err(Errno::BUSY) => return Err(UnmountError::InUse { device }),
            Err(source) => return Err(UnmountError::Cached { device, source }),
        }
    }
}
