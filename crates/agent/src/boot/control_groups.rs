use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsmount, fsopen,
};

use super::BootError;
use super::error::step;

/// The limit of the commands' processes and threads, as a word on the kernel's command line.
const PIDS_VARIABLE: &str = "msb_pids";
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
    /// The largest number of processes and threads, as in `pids.max`; `None` if it is not limited.
    pids_max: Option<String>,
}

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

    /// Returns the limit of processes and threads, which counts for all commands together.
    pub(crate) fn pids_max(&self) -> Option<&str> {
        self.pids_max.as_deref()
    }
}

/// Makes the group of all commands. If the host limits the number of processes and the group cannot
/// be made, the sandbox does not boot.
pub(super) fn group_commands() -> Result<(), BootError> {
    let pids_max = std::env::var(PIDS_VARIABLE).ok();
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
    if pids_max.is_some() {
        write(&root, "cgroup.subtree_control", "+pids")?;
    }
    mkdirat(&root, GROUP, Mode::from_raw_mode(0o755))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(&root, GROUP, flags, Mode::empty())?;
    if let Some(most) = &pids_max {
        write(&directory, "pids.max", most)?;
        // So that a process reads its limit in its own group.
        write(&directory, "cgroup.subtree_control", "+pids")?;
    }
    let processes = open(&directory, "cgroup.procs")?;
    Ok(CommandsGroup {
        root,
        directory,
        processes,
        pids_max,
    })
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
