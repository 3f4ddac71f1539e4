use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open, sync};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Signal, WaitId, WaitIdOptions, chdir, pivot_root, waitid};
use rustix::system::{RebootCommand, reboot};
use tokio::sync::oneshot;

use crate::boot::{BOOT_ROOT, OLD_ROOT, kept_mounts, written_devices};
use crate::{console, trim};

/// The default time that processes may take to end by themselves.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The time that the kernel may take to release a killed process or a disk.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The time that the host may take to record the last answer and to end the machine.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(2);

/// Ends every process, by SIGTERM first and by SIGKILL at the deadline. Their output is passed on
/// meanwhile.
pub(crate) async fn end_processes(deadline: tokio::time::Instant) {
    signal_all(Signal::TERM);
    childless(deadline).await;
    signal_all(Signal::KILL);
    childless(tokio::time::Instant::now() + RELEASE_TIMEOUT).await;
}

/// Waits until no other process is alive, or until the deadline.
async fn childless(deadline: tokio::time::Instant) {
    while has_children() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns true if another process is alive or not yet reaped: all descend from PID 1.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Gives free space of the disks back, then unmounts them, on a thread of its own: the disks may take
/// longer than the host waits for an agent that answers no ping. Calls are refused meanwhile.
pub(crate) async fn unmount_beside_pings() {
    let (done, unmounted) = oneshot::channel();
    let work = move || {
        unmount_everything();
        // The event loop waits for this answer.
        let _ = done.send(());
    };
    match Builder::new().spawn(work) {
        // A thread that ends without an answer has panicked; the machine ends all the same.
        Ok(_) => drop(unmounted.await),
        Err(error) => {
            console::log(&format!("cannot unmount on a thread: {error}"));
            unmount_everything();
        }
    }
}

fn unmount_everything() {
    sync();
    for mount in kept_mounts() {
        if let Err(error) = trim::give_back(&mount) {
            console::log(&format!("cannot trim {}: {error}", mount.display()));
        }
    }
    if let Err(error) = leave_root() {
        console::log(&format!("cannot unmount the root: {error}"));
    }
    sync();
}

/// Sends a signal to every process except this one. The kernel's threads ignore it.
#[expect(unsafe_code, reason = "the call for all processes has no safe form")]
fn signal_all(signal: Signal) {
    // SAFETY: the call takes two numbers and touches no memory of this process. It fails if no
    // other process exists, which is no error here.
    unsafe { libc::kill(-1, signal.as_raw()) };
}

/// Makes the boot disk the root again, so that overlay, upper disk and image have no users.
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

/// Waits until a disk is released: an exclusive open of its device succeeds once it is not mounted.
fn wait_for_release(device: &str) {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    while matches!(open(device, flags, Mode::empty()), Err(Errno::BUSY)) {
        if Instant::now() > deadline {
            console::log(&format!("the disk {device} is still in use"));
            return;
        }
        sleep(POLL_INTERVAL);
    }
}

/// Ends the machine if the host has its answer and does nothing more.
pub(crate) async fn power_off_after_answer() {
    tokio::time::sleep(FAREWELL_TIMEOUT).await;
    power_off();
}

/// Ends the machine, after a last sync. Reports a failure on the console.
pub(crate) fn power_off() -> ! {
    sync();
    if let Err(error) = reboot(RebootCommand::Restart) {
        console::log(&format!("cannot power off: {error}"));
    }
    // Only a machine without a working reset reaches this line.
    loop {
        sleep(Duration::from_secs(1));
    }
}
