//! The boot, from the kernel's first process to a sandbox that can run commands.

mod clock;
mod control_groups;
mod devices;
mod disks;
mod entries;
mod error;
mod grow;
mod guest_settings;
mod host;
mod host_files;
mod interface;
mod kernel_settings;
mod loop_device;
mod mount_request;
mod mounts;
mod network;
mod overlay;
pub(crate) mod own_mounts;
mod root;
mod root_disk;
mod root_kind;
mod staged;
mod volumes;
pub(crate) mod working_directory;

use std::path::PathBuf;

pub(crate) use control_groups::{CommandsGroup, commands_group};
pub(crate) use disks::{note_released, note_written, wait_for as wait_for_disk, written_devices};
pub(crate) use entries::of_device as entry_of_device;
pub(crate) use error::BootError;

/// The directory of the boot disk where the sandbox's root is assembled.
const NEW_ROOT: &str = "/root";
/// The boot disk's mount point in `/run/msb`.
pub(crate) const BOOT_ROOT: &str = "boot";
/// The mount point of the sandbox's root after the boot disk has become the root again.
pub(crate) const OLD_ROOT: &str = "/old";

/// The upper disk's mount point in `/run/msb`.
pub(crate) const UPPER_MOUNT: &str = "upper";

/// Returns the mount points of the disks that outlive the machine.
pub(crate) fn kept_mounts() -> Vec<PathBuf> {
    root::kept_upper()
        .into_iter()
        .chain(volumes::mounted())
        .collect()
}

/// Mounts everything and makes the sandbox's root this process's root.
pub(crate) fn boot() -> Result<(), BootError> {
    mounts::mount_kernel_filesystems()?;
    guest_settings::read()?;
    mount_root()?;
    control_groups::group_commands()?;
    host::set_up();
    kernel_settings::set_all()?;
    clock::set_from_host();
    root::close_if_read_only()
}

/// Mounts everything anew after the boot disk has become the root again. What is the kernel's and not of a
/// filesystem stays: networks, control groups, the clock, nodes in `/dev`.
pub(crate) fn mount_again() -> Result<(), BootError> {
    disks::forget_written();
    entries::forget_disks();
    mount_root()?;
    host::name_it();
    root::close_if_read_only()
}

fn mount_root() -> Result<(), BootError> {
    let disks = disks::find()?;
    root::mount(&disks)?;
    mounts::mount_in_root()?;
    volumes::mount_all()?;
    staged::offer_questions()?;
    working_directory::make();
    root::expose_lower_mounts()?;
    root::pivot()
}
