#![expect(
    unsafe_code,
    reason = "what a child does between fork and exec has no safe form"
)]

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use guest_container::Replacement;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Gid, Resource, Rlimit, Uid, chdir, ioctl_tiocsctty, setrlimit, setsid};

use super::accounts::Identity;
use super::control_group::ControlGroup;
use super::namespaces::Isolation;

/// The state of a child before it becomes the program.
pub(super) struct Leader {
    pub(super) identity: Identity,
    pub(super) has_terminal: bool,
    /// `cgroup.procs` of the control group that the child joins first, if there is one.
    pub(super) joined: Option<OwnedFd>,
    pub(super) control_group: Option<Arc<ControlGroup>>,
    /// True if the command may not run outside the group.
    pub(super) must_join: bool,
    pub(super) isolation: Isolation,
    pub(super) directory: CString,
    pub(super) limits: Vec<(Resource, Rlimit)>,
    pub(super) replacement: Replacement,
    /// The descriptors that stay open in the program.
    pub(super) kept: Vec<OwnedFd>,
}

impl Leader {
    /// Lets the child set itself up. It gets its own session, its terminal if it has one, its control
    /// group, namespaces and limits, then the user and the groups.
    pub(super) fn set_up(self, command: &mut Command) {
        let Identity { uid, gid, .. } = self.identity;
        let groups = self.identity.groups.iter();
        let groups: Vec<Gid> = groups.map(|&gid| Gid::from_raw(gid)).collect();
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        let in_child = move || {
            setsid()?;
            if self.has_terminal {
                ioctl_tiocsctty(io::stdin())?;
            }
            if let Some(group) = &self.joined {
                // `0` means the process that writes.
                match rustix::io::write(group, b"0") {
                    Err(error) if self.must_join => return Err(error.into()),
                    _ => {}
                }
            }
            self.isolation.enter()?;
            if let Some(group) = &self.control_group {
                group.settle();
            }
            chdir(&*self.directory)?;
            for (resource, limit) in &self.limits {
                setrlimit(*resource, *limit)?;
            }
            rustix::thread::set_thread_groups(&groups)?;
            rustix::thread::set_thread_gid(gid)?;
            rustix::thread::set_thread_uid(uid)?;
            for file in &self.kept {
                fcntl_setfd(file, FdFlags::empty())?;
            }
            Err(self.replacement.execute())
        };
        // SAFETY: between fork and exec only system calls are made; nothing is allocated, no lock is
        // taken, and the captured values were made before the fork.
        unsafe { command.pre_exec(in_child) };
    }
}
