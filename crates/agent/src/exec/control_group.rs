//! The control group of a command, which has all processes that the command has started: also those
//! that have left its process group and its session.
//!
//! ```text
//! sandbox/          all commands; the host's limit of processes
//!   1/              the root that process 1 and those who join it see; without processes, so that an
//!                   engine for containers can pass controllers on from there
//!     init/         process 1
//!     exec-2/       a command that has joined it
//!   3/              a command in the machine's own namespaces
//! ```

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use crate::boot::{self, CommandsGroup};

/// The group of process 1, below the root that it sees.
const INIT: &str = "init";

static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
/// The groups of commands that have ended and left processes behind.
static LINGERING: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The control group of a command. It exists until the last process in it has ended.
#[derive(Debug)]
pub(super) struct ControlGroup {
    name: String,
    /// `cgroup.procs` of the group.
    processes: OwnedFd,
    /// The root that the command sees; `None` if the command makes no namespace of control groups.
    root: Option<Root>,
}

/// The group that a namespace has as its root.
#[derive(Debug)]
struct Root {
    group: Box<ControlGroup>,
    directory: OwnedFd,
}

impl ControlGroup {
    /// Makes the group of a new command in the machine's namespaces. `None` if the kernel has no control
    /// groups.
    pub(super) fn create() -> Option<Self> {
        Self::new(next_number().to_string())
    }

    /// Makes the group of process 1. `None` if the kernel has no control groups.
    pub(super) fn create_root() -> Option<Self> {
        let all = boot::commands_group()?;
        let root = Self::new(next_number().to_string())?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(all.directory(), &root.name, flags, Mode::empty()).ok()?;
        let mut init = Self::new(format!("{}/{INIT}", root.name))?;
        init.root = Some(Root {
            group: Box::new(root),
            directory,
        });
        Some(init)
    }

    /// Makes the group of a command that joins process 1, whose group this is. `None` if the guest's root has
    /// closed the groups.
    pub(super) fn create_beside(&self) -> Option<Self> {
        let root = self.root.as_ref()?;
        Self::new(format!("{}/exec-{}", root.group.name, next_number()))
    }

    fn new(name: String) -> Option<Self> {
        let all = boot::commands_group()?;
        mkdirat(all.directory(), &name, Mode::from_raw_mode(0o755)).ok()?;
        let Ok(processes) = open(&name, "cgroup.procs") else {
            remove(&name);
            return None;
        };
        if let Some(most) = all.pids_max() {
            // So that a process reads its limit in its own group. The group of all commands enforces it.
            let _ =
                open(&name, "pids.max").and_then(|file| rustix::io::write(file, most.as_bytes()));
        }
        Some(Self {
            name,
            processes,
            root: None,
        })
    }

    /// Returns `cgroup.procs` of the group.
    pub(super) fn processes(&self) -> BorrowedFd<'_> {
        self.processes.as_fd()
    }

    /// Returns `cgroup.procs` of the group that a process joins before it makes or enters namespaces.
    pub(super) fn first_processes(&self) -> BorrowedFd<'_> {
        let root = self.root.as_ref().map(|root| root.group.processes());
        root.unwrap_or(self.processes())
    }

    /// Moves this process from the root of its new namespace to its own group, and passes the controllers on to
    /// that; does nothing without a new namespace. What fails is left as it is: the group of all commands is
    /// above either. Allocates nothing.
    pub(super) fn settle(&self) {
        if let (Some(root), Some(all)) = (&self.root, boot::commands_group()) {
            let _ = root.settle(self.processes(), all);
        }
    }

    /// Kills every process in the group, and those that have joined process 1 with it. A process that the
    /// guest's root has moved to another group is not among them.
    pub(super) fn kill(&self) {
        let name = self.root.as_ref().map(|root| &root.group.name);
        let name = name.unwrap_or(&self.name);
        // Kernels before 5.14 do not have this file.
        let _ = open(name, "cgroup.kill").and_then(|file| rustix::io::write(file, b"1"));
    }
}

impl Root {
    fn settle(&self, own: BorrowedFd<'_>, all: &CommandsGroup) -> rustix::io::Result<()> {
        // `0` means the process that writes.
        rustix::io::write(own, b"0")?;
        all.pass_controllers_on(self.directory.as_fd())?;
        if let Some(most) = all.pids_max() {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            let limit = openat(&self.directory, c"init/pids.max", flags, Mode::empty())?;
            rustix::io::write(limit, most.as_bytes())?;
        }
        Ok(())
    }
}

impl Drop for ControlGroup {
    /// Removes the group, before the root above it is dropped.
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

/// Returns the number of a new group, which no other one has had.
pub(crate) fn next_number() -> u64 {
    LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1
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
