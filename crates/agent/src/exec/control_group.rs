//! The control group of a command, which has all processes that the command has started: also those
//! that have left its process group and its session.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use crate::boot;

static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
/// The groups of commands that have ended and left processes behind.
static LINGERING: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The control group of a command. It exists until the last process in it has ended.
#[derive(Debug)]
pub(super) struct ControlGroup {
    name: String,
    /// `cgroup.procs` of the group.
    processes: OwnedFd,
}

impl ControlGroup {
    /// Makes the group of a new command. `None` if the kernel has no control groups, or the guest's
    /// root has closed them.
    pub(super) fn create() -> Option<Self> {
        let all = boot::commands_group()?;
        let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
        let name = number.to_string();
        mkdirat(all.directory(), &name, Mode::from_raw_mode(0o755)).ok()?;
        let processes = open(&name, "cgroup.procs");
        let made = processes.and_then(|processes| {
            if let Some(most) = all.pids_max() {
                rustix::io::write(open(&name, "pids.max")?, most.as_bytes())?;
            }
            Ok(processes)
        });
        match made {
            Ok(processes) => Some(Self { name, processes }),
            Err(_) => {
                remove(&name);
                None
            }
        }
    }

    /// Returns `cgroup.procs`, through which a process joins the group.
    pub(super) fn processes(&self) -> BorrowedFd<'_> {
        self.processes.as_fd()
    }

    /// Kills every process in the group. A process that the guest's root has moved to another group
    /// is not among them.
    pub(super) fn kill(&self) {
        // Kernels before 5.14 do not have this file.
        let _ = open(&self.name, "cgroup.kill").and_then(|file| rustix::io::write(file, b"1"));
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Removes the groups of ended commands whose last process has ended since.
pub(crate) fn remove_empty() {
    // The lock is released before the loop, which takes it again for a group that still has processes.
    let names = std::mem::take(&mut *lingering());
    for name in names {
        remove(&name);
    }
}

/// Removes a group, or notes it if it still has processes.
fn remove(name: &str) {
    let Some(all) = boot::commands_group() else {
        return;
    };
    // The guest's root may have removed the group, which is no error.
    if unlinkat(all.directory(), name, AtFlags::REMOVEDIR) == Err(Errno::BUSY) {
        // Either processes are left, or the guest's root has made a group in it.
        lingering().push(name.to_owned());
    }
}

fn lingering() -> MutexGuard<'static, Vec<String>> {
    LINGERING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(group: &str, file: &str) -> rustix::io::Result<OwnedFd> {
    let all = boot::commands_group().ok_or(Errno::NODEV)?;
    openat(
        all.directory(),
        format!("{group}/{file}"),
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}
