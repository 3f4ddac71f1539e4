use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::BootError;
use super::error::step;

/// The limit of the commands' processes and threads, as a word on the kernel's command line.
const PIDS_VARIABLE: &str = "msb_pids";
/// The control group of commands. The agent and the kernel's threads are outside it and are not
/// counted.
const GROUP: &str = "sandbox";

/// `cgroup.procs` of the commands' group.
static COMMANDS: OnceLock<OwnedFd> = OnceLock::new();

/// Returns `cgroup.procs`, which a command joins its group with before it begins. `None` if the
/// number of processes is not limited.
pub(crate) fn commands_group() -> Option<BorrowedFd<'static>> {
    COMMANDS.get().map(|file| file.as_fd())
}

/// Makes the group if the host limits the number of processes. If that fails, the sandbox does not
/// boot.
pub(super) fn limit_commands() -> Result<(), BootError> {
    let Ok(most) = std::env::var(PIDS_VARIABLE) else {
        return Ok(());
    };
    let group = make_group(&most).map_err(step("limit the number of processes"))?;
    COMMANDS.get_or_init(|| group);
    Ok(())
}

/// Makes the group and opens its `cgroup.procs`. The hierarchy is mounted nowhere; the open file
/// keeps it.
fn make_group(most: &str) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let root = fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )?;
    write(&root, "cgroup.subtree_control", "+pids")?;
    mkdirat(&root, GROUP, Mode::from_raw_mode(0o755))?;
    write(&root, &format!("{GROUP}/pids.max"), most)?;
    open(&root, &format!("{GROUP}/cgroup.procs"))
}

fn write(root: &OwnedFd, name: &str, text: &str) -> rustix::io::Result<()> {
    rustix::io::write(open(root, name)?, text.as_bytes()).map(drop)
}

fn open(root: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    openat(root, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
}
