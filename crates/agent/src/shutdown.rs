use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open, sync};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, WaitOptions, chdir, kill_process, pivot_root, wait};
use rustix::system::{RebootCommand, reboot};

use crate::boot::{BOOT_ROOT, OLD_ROOT, upper_device};
use crate::console;

/// How long processes may take to end by themselves.
const TERMINATION_LIMIT: Duration = Duration::from_secs(2);
/// How long the kernel may take to let a killed process or a disk go.
const RELEASE_LIMIT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long the answer's last bytes may take to leave through the port.
const ANSWER_LIMIT: Duration = Duration::from_millis(20);

/// Ends every process and unmounts every disk. Blocks; nothing else is to go on meanwhile.
pub(crate) fn unmount_everything() {
    end_processes(Signal::TERM, TERMINATION_LIMIT);
    end_processes(Signal::KILL, RELEASE_LIMIT);
    sync();
    if let Err(error) = leave_root() {
        console::say(&format!("cannot unmount the root: {error}"));
    }
    sync();
}

/// Signals every process but this one and reaps until none is left, or the limit.
fn end_processes(signal: Signal, limit: Duration) {
    let deadline = Instant::now() + limit;
    signal_all(signal);
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Err(Errno::CHILD) => return,
            Ok(None) | Err(_) if Instant::now() > deadline => return,
            Ok(None) | Err(_) => sleep(POLL_INTERVAL),
        }
    }
}

fn signal_all(signal: Signal) {
    // Every other process is a descendant of PID 1, and kernel threads ignore signals.
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return;
    };
    let pids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for pid in pids.filter_map(Pid::from_raw).filter(|pid| !pid.is_init()) {
        // It may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

/// Goes back to the boot disk, so that overlay, upper and image have no user left.
fn leave_root() -> rustix::io::Result<()> {
    chdir(BOOT_ROOT)?;
    let old = OLD_ROOT.trim_start_matches('/');
    pivot_root(".", old)?;
    chdir("/")?;
    unmount(OLD_ROOT, UnmountFlags::DETACH)?;
    wait_for_release();
    Ok(())
}

/// An exclusive open of the upper's device succeeds once nothing has it mounted.
fn wait_for_release() {
    let deadline = Instant::now() + RELEASE_LIMIT;
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    while matches!(open(upper_device(), flags, Mode::empty()), Err(Errno::BUSY)) {
        if Instant::now() > deadline {
            console::say("the upper disk is still in use");
            return;
        }
        sleep(POLL_INTERVAL);
    }
}

/// Gives the answer's last bytes time to leave.
pub(crate) async fn let_answer_out() {
    tokio::time::sleep(ANSWER_LIMIT).await;
}

/// Ends the machine.
pub(crate) fn power_off() {
    sync();
    if let Err(error) = reboot(RebootCommand::Restart) {
        console::say(&format!("cannot power off: {error}"));
    }
    // Only a machine without a working reset comes here.
    loop {
        sleep(Duration::from_secs(1));
    }
}
