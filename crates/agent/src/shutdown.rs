use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open, sync};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Signal, WaitId, WaitIdOptions, chdir, pivot_root, waitid};
use rustix::system::{RebootCommand, reboot};

use crate::boot::{BOOT_ROOT, OLD_ROOT, kept_mounts, written_devices};
use crate::{console, trim};

/// How long processes may take to end by themselves, where the host does not say.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// How long the kernel may take to let a killed process or a disk go.
const RELEASE_LIMIT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long the host may take to note what it was told last, and to let the machine go.
const FAREWELL_LIMIT: Duration = Duration::from_secs(2);

/// Ends every process: by a signal that it may catch, at the deadline by one that it may not. What
/// they say last is passed on meanwhile.
pub(crate) async fn end_processes(deadline: tokio::time::Instant) {
    signal_all(Signal::TERM);
    childless(deadline).await;
    signal_all(Signal::KILL);
    childless(tokio::time::Instant::now() + RELEASE_LIMIT).await;
}

/// Waits until nothing else lives, or until the deadline.
async fn childless(deadline: tokio::time::Instant) {
    while has_children() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether any other process lives, or has not been reaped: all descend from PID 1.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Gives back what is free on the disks, then unmounts them. Blocks; nothing else is to go on meanwhile.
pub(crate) fn unmount_everything() {
    sync();
    for mount in kept_mounts() {
        if let Err(error) = trim::give_back(&mount) {
            console::say(&format!("cannot trim {}: {error}", mount.display()));
        }
    }
    if let Err(error) = leave_root() {
        console::say(&format!("cannot unmount the root: {error}"));
    }
    sync();
}

/// Sends a signal to every process but this one. Threads of the kernel ignore it.
#[expect(unsafe_code, reason = "the call for all processes has no safe form")]
fn signal_all(signal: Signal) {
    // SAFETY: the call takes two numbers and touches no memory of this process. That there is no
    // other process is no failure.
    unsafe { libc::kill(-1, signal.as_raw()) };
}

/// Goes back to the boot disk, so that overlay, upper and image have no user left.
fn leave_root() -> rustix::io::Result<()> {
    chdir(BOOT_ROOT)?;
    let old = OLD_ROOT.trim_start_matches('/');
    pivot_root(".", old)?;
    chdir("/")?;
    unmount(OLD_ROOT, UnmountFlags::DETACH)?;
    written_devices()
        .iter()
        .for_each(|device| wait_for_release(device));
    Ok(())
}

/// An exclusive open of a disk's device succeeds once nothing has it mounted.
fn wait_for_release(device: &str) {
    let deadline = Instant::now() + RELEASE_LIMIT;
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    while matches!(open(device, flags, Mode::empty()), Err(Errno::BUSY)) {
        if Instant::now() > deadline {
            console::say(&format!("the disk {device} is still in use"));
            return;
        }
        sleep(POLL_INTERVAL);
    }
}

/// Ends the machine of a host that has heard all and says no more.
pub(crate) async fn power_off_after_answer() {
    tokio::time::sleep(FAREWELL_LIMIT).await;
    power_off();
}

/// Ends the machine.
pub(crate) fn power_off() -> ! {
    sync();
    if let Err(error) = reboot(RebootCommand::Restart) {
        console::say(&format!("cannot power off: {error}"));
    }
    // Only a machine without a working reset comes here.
    loop {
        sleep(Duration::from_secs(1));
    }
}
