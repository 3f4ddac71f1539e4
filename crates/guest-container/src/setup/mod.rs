//! The first process of a container, which makes the namespaces and the root filesystem around itself.

mod devices;
mod mounts;
mod namespaces;
mod paths;
mod root;
mod sysctls;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use container_plan::{ContainerPlan, Propagation, flags};
use rustix::fs::{CWD, Mode, OFlags, open, openat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::process::{DumpableBehavior, chdir, fchdir, pivot_root, set_dumpable_behavior, umask};
use rustix::system::{setdomainname, sethostname};

use crate::ContainerError;
use crate::attributes::set_attributes;
use crate::error::step;
use crate::point::descriptor_path;
use crate::terminal::open_terminal_in;

pub use devices::LINKS as DEVICE_LINKS;
pub use mounts::memory_name;
pub use root::RootSource;

/// The directory of the agent's own mounts on which the first process mounts a small tmpfs, in its own mount namespace.
pub const SCRATCH: &str = "containers";
/// The options of that tmpfs. It holds mount points, and one device node.
const SCRATCH_OPTIONS: &std::ffi::CStr = c"mode=700,size=1M";

/// The container that a process sets up around itself.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    /// The plan.
    pub(crate) plan: &'a ContainerPlan,
    /// The origin of the root filesystem.
    pub(crate) root: &'a RootSource,
    /// The directory of the agent's own mounts, which has the directory [`SCRATCH`] and those of the pod's memory.
    pub(crate) own_mounts: BorrowedFd<'a>,
}

/// Makes the namespaces and the root filesystem of a container around this process, which is single-threaded, leads a
/// session, and is in the container's PID namespace and control group. Returns the master of its terminal if it has
/// one.
///
/// # Errors
/// If the plan asks for something that this guest does not do, or the kernel refuses a step. The process has to end
/// then, and everything that was made ends with it.
pub(crate) fn set_up(setup: &Setup<'_>) -> Result<Option<OwnedFd>, ContainerError> {
    let plan = setup.plan;
    // A process that joins the container early does not see into this one.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(step("hide the process"))?;
    umask(Mode::empty());
    namespaces::make(setup)?;
    let scratch = mount_scratch()?;
    let root = root::mount_root(scratch.as_fd(), setup.root)?;
    propagate(&root, plan.root_propagation).map_err(step("set the root's propagation"))?;
    mounts::mount_all(&root, &plan.mounts)?;
    devices::make_all(&root, plan)?;
    name_host(plan)?;
    sysctls::write_all(&plan.sysctls)?;
    paths::mask_all(&root, scratch.as_fd(), &plan.masked_paths)?;
    paths::close_all(&root, &plan.readonly_paths)?;
    let process = &plan.process;
    let terminal = process.terminal;
    let terminal = terminal.map(|size| open_terminal_in(&root, process.uid, size));
    let terminal = terminal.transpose()?;
    if plan.is_root_read_only {
        set_attributes(&root, flags::READ_ONLY, false).map_err(step("close the root"))?;
    }
    enter(&root)?;
    Ok(terminal)
}

/// Mounts the tmpfs on which the root is assembled, in the working directory.
fn mount_scratch() -> Result<OwnedFd, ContainerError> {
    const ACTION: &str = "mount a directory for the root";
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("tmpfs", SCRATCH, "tmpfs", flags, SCRATCH_OPTIONS).map_err(step(ACTION))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let scratch = openat(CWD, SCRATCH, flags, Mode::empty());
    scratch.map_err(step(ACTION))
}

fn name_host(plan: &ContainerPlan) -> Result<(), ContainerError> {
    if !plan.hostname.is_empty() {
        sethostname(plan.hostname.as_bytes()).map_err(step("set the host name"))?;
    }
    if !plan.domainname.is_empty() {
        setdomainname(plan.domainname.as_bytes()).map_err(step("set the domain name"))?;
    }
    Ok(())
}

/// Makes the container's root the root of this process, and leaves all other mounts of the guest behind.
fn enter(root: &OwnedFd) -> Result<(), ContainerError> {
    const ACTION: &str = "enter the root";
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let old = open("/", flags, Mode::empty()).map_err(step(ACTION))?;
    fchdir(root).map_err(step(ACTION))?;
    pivot_root(".", ".").map_err(step(ACTION))?;
    // The old root is mounted on the new one now, where `.` leads by this descriptor alone.
    fchdir(&old).map_err(step(ACTION))?;
    unmount(".", UnmountFlags::DETACH).map_err(step("leave the guest's mounts"))?;
    chdir("/").map_err(step(ACTION))
}

/// Sets the propagation of an open mount.
fn propagate(mount: &OwnedFd, propagation: i32) -> std::io::Result<()> {
    // The check of the plan has refused unknown values.
    let propagation = Propagation::try_from(propagation).unwrap_or_default();
    let recursive = MountPropagationFlags::REC;
    let flags = match propagation {
        Propagation::Unspecified | Propagation::RecursivePrivate => {
            MountPropagationFlags::PRIVATE | recursive
        }
        Propagation::Private => MountPropagationFlags::PRIVATE,
        Propagation::Slave => MountPropagationFlags::DOWNSTREAM,
        Propagation::RecursiveSlave => MountPropagationFlags::DOWNSTREAM | recursive,
        Propagation::Unbindable => MountPropagationFlags::UNBINDABLE,
        Propagation::RecursiveUnbindable => MountPropagationFlags::UNBINDABLE | recursive,
    };
    Ok(mount_change(descriptor_path(mount), flags)?)
}
