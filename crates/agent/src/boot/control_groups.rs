use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsmount, fsopen,
};

use super::error::step;
use super::{BootError, guest_settings};

/// The control group of all commands. The agent and the kernel's threads are outside it and are not
/// counted.
const GROUP: &str = "sandbox";

/// The control group of all commands.
#[derive(Debug)]
pub(crate) struct CommandsGroup {
    /// The root of the hierarchy, with the agent's process.
    root: OwnedFd,
    directory: OwnedFd,
    /// `cgroup.procs` of the group.
    processes: OwnedFd,
    /// The controllers of the groups in this one, as the words that pass them on.
    controllers: String,
    /// The largest number of processes and threads, as in `pids.max`; `None` if it is not limited.
    pids_max: Option<String>,
}

/// The most that is read of `cgroup.controllers`; the kernel has some ten short names.
const CONTROLLERS_MAX_BYTES: usize = 1024;

const SUBTREE_CONTROL: &str = "cgroup.subtree_control";

static COMMANDS: OnceLock<CommandsGroup> = OnceLock::new();

/// Returns the group of all commands. `None` if the kernel has no control groups.
pub(crate) fn commands_group() -> Option<&'static CommandsGroup> {
    COMMANDS.get()
}

impl CommandsGroup {
    /// Returns the root of the hierarchy: the group of the agent, above that of all commands.
    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns the group's directory, which has a group for each command.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Returns `cgroup.procs` of this group.
    pub(crate) fn processes(&self) -> BorrowedFd<'_> {
        self.processes.as_fd()
    }

    /// Passes the controllers of a group in this one on to the groups in that. Allocates nothing.
    pub(crate) fn pass_controllers_on(&self, group: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let control = openat(group, c"cgroup.subtree_control", flags, Mode::empty())?;
        rustix::io::write(control, self.controllers.as_bytes()).map(drop)
    }

    /// Returns the limit of processes and threads, which counts for all commands together.
    pub(crate) fn pids_max(&self) -> Option<&str> {
        self.pids_max.as_deref()
    }
}

/// Makes the group of all commands. If the host limits the number of processes and the group cannot
/// be made, the sandbox does not boot.
pub(super) fn group_commands() -> Result<(), BootError> {
    let pids_max = guest_settings::current().pids;
    let pids_max = pids_max.map(|pids| pids.to_string());
    let is_needed = pids_max.is_some();
    match make_group(pids_max) {
        Ok(group) => {
            COMMANDS.get_or_init(|| group);
        }
        Err(error) if is_needed => return Err(step("limit the number of processes")(error)),
        // Commands run without groups; a kill then reaches their process groups alone.
        Err(_) => {}
    }
    Ok(())
}

/// Makes the group. The hierarchy is mounted nowhere; the open directory keeps it.
fn make_group(pids_max: Option<String>) -> rustix::io::Result<CommandsGroup> {
    let context = fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // Otherwise each command that joins its group waits until all processors have passed through
    // the scheduler. Kernels before 6.0 do not have this option.
    let _ = fsconfig_set_flag(&context, "favordynmods");
    fsconfig_create(&context)?;
    let root = fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )?;
    pass_on_all(&root, pids_max.is_some())?;
    mkdirat(&root, GROUP, Mode::from_raw_mode(0o755))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(&root, GROUP, flags, Mode::empty())?;
    if let Some(most) = &pids_max {
        write(&directory, "pids.max", most)?;
    }
    // So that a process reads its limits in its own group, and engines for containers find controllers.
    let controllers = pass_on_all(&directory, pids_max.is_some())?;
    let processes = open(&directory, "cgroup.procs")?;
    Ok(CommandsGroup {
        root,
        directory,
        processes,
        controllers,
        pids_max,
    })
}

/// Returns the words that pass a group's controllers on to the groups in it. One that the kernel keeps is left out,
/// unless the host needs it: that is `pids`, if there is a limit.
fn pass_on_all(group: &OwnedFd, needs_pids: bool) -> rustix::io::Result<String> {
    let mut list = [0; CONTROLLERS_MAX_BYTES];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(group, "cgroup.controllers", flags, Mode::empty())?;
    let length = rustix::io::read(file, &mut list[..])?;
    let list = String::from_utf8_lossy(&list[..length]);
    let mut passed_on = String::new();
    for name in list.split_whitespace() {
        let word = format!("+{name} ");
        match write(group, SUBTREE_CONTROL, &word) {
            Ok(()) => passed_on.push_str(&word),
            Err(error) if needs_pids && name == "pids" => return Err(error),
            Err(_) => {}
        }
    }
    Ok(passed_on)
}

fn write(directory: &OwnedFd, name: &str, text: &str) -> rustix::io::Result<()> {
    rustix::io::write(open(directory, name)?, text.as_bytes()).map(drop)
}

fn open(directory: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    openat(
        directory,
        name,
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}
