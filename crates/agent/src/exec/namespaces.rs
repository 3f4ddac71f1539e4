#![expect(unsafe_code, reason = "unshare(2) has no safe form")]
//! The namespaces of process IDs, mounts and control groups that process 1 of the sandbox makes, and that
//! later commands and calls on files enter; and those of containers.
//!
//! The agent itself stays outside: what commands mount or unmount does not matter when it freezes,
//! trims and unmounts disks.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::{fs, io};

use msb_agent_protocol::v1::Namespaces;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{
    ThreadNameSpaceType, UnshareFlags, move_into_thread_name_spaces, unshare_unsafe,
};

use super::control_group::ControlGroup;
use crate::guarded_file::read_regular;

/// Process 1 of the sandbox.
static PROCESS_1: Mutex<Option<Process1>> = Mutex::new(None);

/// The most that is read of a process's `status`; the kernel writes some sixty short lines.
const STATUS_MAX_BYTES: u64 = 16 << 10;
/// The file of every process that a kernel with namespaces of process IDs has.
const KERNEL_SUPPORT: &str = "/proc/self/ns/pid";
/// The flags of the mounts that show namespaces, as those of the boot.
const MOUNT_FLAGS: MountFlags = MountFlags::NOSUID
    .union(MountFlags::NODEV)
    .union(MountFlags::NOEXEC);

/// Process 1 of the sandbox, from its start until it is reaped.
#[derive(Debug, Clone)]
pub(crate) struct Process1 {
    pid: i32,
    namespaces: NamespacesOf,
    control_group: Option<Arc<ControlGroup>>,
}

/// The namespaces of a process, which this does not keep alive.
#[derive(Debug, Clone)]
pub(crate) struct NamespacesOf {
    process: Arc<OwnedFd>,
    /// The namespaces beside that of process IDs.
    kinds: ThreadNameSpaceType,
}

impl NamespacesOf {
    /// Returns the namespaces of a process that has not been reaped.
    pub(crate) fn new(pid: i32, kinds: ThreadNameSpaceType) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        let process = Arc::new(pidfd_open(pid, PidfdFlags::empty())?);
        Ok(Self { process, kinds })
    }

    fn enter(&self) -> rustix::io::Result<()> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        move_into_thread_name_spaces(self.process.as_fd(), self.kinds)
    }

    /// Puts the children of this thread into the namespace of process IDs.
    fn adopt_children(&self) -> rustix::io::Result<()> {
        move_into_thread_name_spaces(self.process.as_fd(), ThreadNameSpaceType::PROCESS_ID)
    }
}

/// The namespaces that a command runs in.
#[derive(Debug, Clone)]
pub(super) enum Isolation {
    /// The machine's namespaces.
    Machine,
    /// New namespaces, in which the command is process 1.
    New,
    /// The namespaces of process 1.
    Joined(Process1),
    /// A new namespace of process IDs. The first process of a container makes the other namespaces itself.
    NewContainer,
    /// The namespaces of a container, or that of process IDs of process 1.
    Container(NamespacesOf),
}

/// Returns process 1; `None` while none runs.
pub(super) fn process_1() -> Option<Process1> {
    current().clone()
}

/// Notes the start of process 1. Nothing is awaited between the start and this call.
pub(super) fn note_start(pid: i32, control_group: Option<Arc<ControlGroup>>) -> io::Result<()> {
    let mut kinds = ThreadNameSpaceType::MOUNT;
    // A kernel may be built without control groups.
    if control_group.is_some() {
        kinds |= ThreadNameSpaceType::CONTROL_GROUP;
    }
    let namespaces = NamespacesOf::new(pid, kinds)?;
    *current() = Some(Process1 {
        pid,
        namespaces,
        control_group,
    });
    Ok(())
}

/// Notes that a process was reaped, which may be process 1.
pub(crate) fn note_end(pid: i32) {
    let ended = current().take_if(|process_1| process_1.pid == pid);
    // Outside the lock, because its control group goes with it.
    drop(ended);
}

/// Runs work on a thread that sees the mounts of process 1, or the agent's own while no process 1 runs.
///
/// The thread does not have this process's `/proc/self`: `/proc` is that of the commands.
///
/// # Errors
/// If there is no thread, or the work panics.
pub(crate) fn among_commands<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let Some(process_1) = process_1() else {
        return Ok(work());
    };
    thread::scope(|scope| {
        let visitor = Builder::new().spawn_scoped(scope, || {
            // If process 1 has ended, so have its mounts.
            let _ = process_1.show_mounts();
            work()
        })?;
        let worked = visitor.join();
        worked.map_err(|_| io::Error::other("the work panicked"))
    })
}

impl Process1 {
    pub(super) fn control_group(&self) -> Option<&ControlGroup> {
        self.control_group.as_deref()
    }

    /// Shows this thread the process's mounts, for as long as it runs.
    fn show_mounts(&self) -> rustix::io::Result<()> {
        // SAFETY: descriptors stay shared. The thread gets its own root and working directory.
        unsafe { unshare_unsafe(UnshareFlags::FS) }?;
        let process = self.namespaces.process.as_fd();
        move_into_thread_name_spaces(process, ThreadNameSpaceType::MOUNT)
    }
}

/// Returns the namespace of process IDs of process 1, for a container that shares it; `None` while no process 1 runs.
pub(crate) fn shared_pids() -> Option<NamespacesOf> {
    let process_1 = process_1()?;
    Some(NamespacesOf {
        kinds: ThreadNameSpaceType::empty(),
        ..process_1.namespaces
    })
}

/// Returns the number that a process has in its own namespace; `None` if it has been reaped.
pub(crate) fn own_number(pid: i32) -> Option<u32> {
    let status = read_regular(format!("/proc/{pid}/status"), STATUS_MAX_BYTES).ok()?;
    let status = String::from_utf8_lossy(&status);
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().last()?.parse().ok()
}

impl Isolation {
    /// Returns where a command runs that asks for these namespaces. A kernel that is built without namespaces
    /// of process IDs has those of the machine alone.
    pub(super) fn new(namespaces: Namespaces) -> Self {
        match namespaces {
            _ if !fs::exists(KERNEL_SUPPORT).unwrap_or(true) => Self::Machine,
            Namespaces::Machine => Self::Machine,
            Namespaces::New | Namespaces::NewWithInit => Self::New,
            Namespaces::Joined => process_1().map_or(Self::Machine, Self::Joined),
        }
    }

    /// Starts a child by `spawn`, which calls [`enter`](Self::enter) in it. A namespace of process IDs counts
    /// for the children of the thread that makes or enters it, so such a child needs a separate thread.
    pub(super) fn spawn<T: Send>(
        &self,
        spawn: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let prepare = || match self {
            Self::Machine => Ok(()),
            // SAFETY: descriptors stay shared.
            Self::New | Self::NewContainer => unsafe { unshare_unsafe(UnshareFlags::NEWPID) },
            Self::Joined(process_1) => process_1.namespaces.adopt_children(),
            Self::Container(namespaces) => namespaces.adopt_children(),
        };
        if matches!(self, Self::Machine) {
            return spawn();
        }
        thread::scope(|scope| {
            let starter = Builder::new().spawn_scoped(scope, || {
                prepare()?;
                spawn()
            })?;
            let spawned = starter.join();
            spawned.unwrap_or_else(|_| Err(io::Error::other("the agent failed")))
        })
    }

    /// Returns `cgroup.procs` of the group of process 1, for a command without its own group.
    pub(super) fn processes(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Machine | Self::New | Self::NewContainer | Self::Container(_) => None,
            Self::Joined(process_1) => process_1.control_group().map(ControlGroup::processes),
        }
    }

    /// Returns true if a child could not be started because process 1 has ended.
    pub(super) fn has_ended(&self, error: &io::Error) -> bool {
        matches!(self, Self::Joined(_)) && error.raw_os_error() == Some(libc::ESRCH)
    }

    /// Enters the namespaces, in a child that [`spawn`](Self::spawn) started and that has joined its control
    /// group. Allocates nothing.
    pub(super) fn enter(&self) -> rustix::io::Result<()> {
        match self {
            Self::Machine | Self::NewContainer => Ok(()),
            Self::New => {
                // SAFETY: descriptors are this process's alone.
                unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWCGROUP) }?;
                show(c"proc", c"/proc")?;
                // A kernel may be built without control groups.
                let _ = show(c"cgroup2", c"/sys/fs/cgroup");
                Ok(())
            }
            Self::Joined(process_1) => process_1.namespaces.enter(),
            Self::Container(namespaces) => namespaces.enter(),
        }
    }
}

/// Mounts the filesystem that shows this process's namespace, in the place of the agent's.
fn show(kind: &CStr, target: &CStr) -> rustix::io::Result<()> {
    match unmount(target, UnmountFlags::DETACH) {
        // Nothing is mounted there.
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error),
    }
    mount(kind, target, kind, MOUNT_FLAGS, None)
}

fn current() -> MutexGuard<'static, Option<Process1>> {
    PROCESS_1.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_own_number_in_its_own_namespace() {
        let pid = i32::try_from(std::process::id()).expect("a number");
        assert!(own_number(pid).is_some_and(|number| number > 0));
        assert_eq!(own_number(-1), None);
    }

    #[test]
    fn work_without_a_process_1_is_done_as_it_is() {
        assert_eq!(among_commands(|| 7).expect("worked"), 7);
        note_end(1);
        assert!(process_1().is_none());
    }
}
