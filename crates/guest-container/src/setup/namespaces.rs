#![expect(unsafe_code, reason = "unshare(2) has no safe form")]

use container_plan::NamespaceScope;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::fchdir;
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::Setup;
use crate::ContainerError;
use crate::error::step;

/// Makes the namespaces that are the container's own. The others stay those of the guest.
pub(super) fn make(setup: &Setup<'_>) -> Result<(), ContainerError> {
    let namespaces = setup.plan.namespaces;
    let mut kinds = UnshareFlags::NEWNS | UnshareFlags::NEWCGROUP;
    if namespaces.ipc() == NamespaceScope::Container {
        kinds |= UnshareFlags::NEWIPC;
    }
    if namespaces.uts() == NamespaceScope::Container {
        kinds |= UnshareFlags::NEWUTS;
    }
    // The working directory becomes that of the new mount namespace, and a descriptor would not.
    fchdir(setup.own_mounts).map_err(step("enter the agent's own mounts"))?;
    // SAFETY: descriptors are this process's alone.
    unsafe { unshare_unsafe(kinds) }.map_err(step("make the namespaces"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(step("separate the mounts"))
}
