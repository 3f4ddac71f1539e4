//! The control group of a container: its limits, its figures and its processes, in the files of version 2.

mod device_filter;
mod figures;
mod tree;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use container_plan::{Cgroup, Control};
use msb_agent_protocol::v1::ContainerStatsReply;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use crate::ContainerError;
use crate::error::step;

/// The most groups in a container's that are listed and removed. systemd in a container makes some hundred.
pub const GROUPS_MAX: usize = 4096;
/// The most processes that are listed.
pub const PIDS_MAX: usize = 4096;
/// The most that is read of a file of a group, in bytes. `io.stat` has a line for each disk.
const FILE_MAX_BYTES: u64 = 64 << 10;

/// The control group of a container. Dropping it leaves the group: see [`remove`](Self::remove).
#[derive(Debug)]
pub struct Group {
    /// The group that this one is in.
    parent: OwnedFd,
    name: String,
    directory: OwnedFd,
    /// `cgroup.procs` of the group, for the first process and for those that join it.
    processes: OwnedFd,
}

impl Group {
    /// Makes a group in another one, with the limits of a plan.
    ///
    /// # Errors
    /// If the kernel refuses a limit; the group is removed then.
    pub fn create(
        parent: BorrowedFd<'_>,
        name: &str,
        plan: &Cgroup,
    ) -> Result<Self, ContainerError> {
        const ACTION: &str = "make the control group";
        mkdirat(parent, name, Mode::from_raw_mode(0o755)).map_err(step(ACTION))?;
        let group = Self::open(parent, name).map_err(step(ACTION));
        let limited = group.and_then(|group| {
            group.limit(&plan.controls)?;
            device_filter::put_on(group.directory.as_fd(), &plan.device_rules)
                .map_err(step("limit the access to devices"))?;
            Ok(group)
        });
        if limited.is_err() {
            let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
        limited
    }

    fn open(parent: BorrowedFd<'_>, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(parent, name, flags, Mode::empty())?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let processes = openat(&directory, "cgroup.procs", flags, Mode::empty())?;
        Ok(Self {
            parent: parent.try_clone_to_owned()?,
            name: name.to_owned(),
            directory,
            processes,
        })
    }

    /// Returns `cgroup.procs` of the group, open for writing.
    #[must_use]
    pub fn processes(&self) -> BorrowedFd<'_> {
        self.processes.as_fd()
    }

    /// Writes limits of a checked plan, in their order.
    ///
    /// # Errors
    /// If the kernel refuses one; those before it have changed then.
    pub fn limit(&self, controls: &[Control]) -> Result<(), ContainerError> {
        for Control { file, value } in controls {
            tree::write(self.directory.as_fd(), file, value.as_bytes())
                .map_err(step(format!("set {file} to {value:?}")))?;
        }
        Ok(())
    }

    /// Returns the figures of the group. Those that cannot be read are missing.
    #[must_use]
    pub fn stats(&self) -> ContainerStatsReply {
        figures::read(|file| tree::read(self.directory.as_fd(), file).ok())
    }

    /// Returns the process IDs in the group and in the groups in it, at most [`PIDS_MAX`].
    ///
    /// # Errors
    /// If the group cannot be read.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        tree::pids(self.directory.as_fd())
    }

    /// Kills every process in the group and in the groups in it.
    ///
    /// # Errors
    /// If the kernel is older than 5.14.
    pub fn kill(&self) -> io::Result<()> {
        tree::write(self.directory.as_fd(), "cgroup.kill", b"1")
    }

    /// Asks the kernel to freeze or to thaw all processes. [`is_frozen`](Self::is_frozen) says when that is done.
    ///
    /// # Errors
    /// If the kernel has no freezer.
    pub fn freeze(&self, is_frozen: bool) -> io::Result<()> {
        let value: &[u8] = if is_frozen { b"1" } else { b"0" };
        tree::write(self.directory.as_fd(), "cgroup.freeze", value)
    }

    /// Returns true once all processes stand still.
    ///
    /// # Errors
    /// If the group cannot be read.
    pub fn is_frozen(&self) -> io::Result<bool> {
        self.has_event("frozen 1")
    }

    /// Returns true if there is a process in the group or in a group in it.
    ///
    /// # Errors
    /// If the group cannot be read.
    pub fn is_populated(&self) -> io::Result<bool> {
        self.has_event("populated 1")
    }

    fn has_event(&self, wanted: &str) -> io::Result<bool> {
        let events = tree::read(self.directory.as_fd(), "cgroup.events")?;
        Ok(events.lines().any(|line| line == wanted))
    }

    /// Removes the group, which has no process, and the groups in it. A group that is gone is no error.
    ///
    /// # Errors
    /// If there are processes, or more than [`GROUPS_MAX`] groups.
    pub fn remove(&self) -> io::Result<()> {
        tree::remove_below(self.directory.as_fd())?;
        match unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
