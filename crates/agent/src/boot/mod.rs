//! From the kernel's first process to a sandbox that is ready for commands.

mod clock;
mod devices;
mod disks;
mod error;
mod given;
mod grow;
mod host;
mod host_files;
mod interface;
mod mounts;
mod network;
mod pids;
mod root;
mod volumes;

use std::path::PathBuf;

pub(crate) use disks::written_devices;
pub(crate) use error::BootError;
pub(crate) use pids::commands_group;

/// Where the boot disk is seen from the sandbox's root.
pub(crate) const BOOT_ROOT: &str = "/run/msb/boot";
/// Where the sandbox's root is put when the boot disk becomes the root again.
pub(crate) const OLD_ROOT: &str = "/old";

/// Where disks are mounted that stay when the machine ends.
pub(crate) fn kept_mounts() -> Vec<PathBuf> {
    root::kept_upper()
        .into_iter()
        .chain(volumes::mounted())
        .collect()
}

/// Mounts everything and makes the sandbox's root this process's root.
pub(crate) fn boot() -> Result<(), BootError> {
    mounts::mount_kernel_filesystems()?;
    let disks = disks::find()?;
    root::mount(&disks)?;
    mounts::mount_in_root()?;
    volumes::mount_all()?;
    root::expose_lower_mounts()?;
    root::pivot()?;
    pids::limit_commands()?;
    host::set_up();
    clock::set_from_host();
    root::close_if_read_only()
}
