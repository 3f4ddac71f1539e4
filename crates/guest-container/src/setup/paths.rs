use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use container_plan::flags;
use rustix::fs::{FileType, Mode, makedev, mknodat};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive};

use crate::ContainerError;
use crate::attributes::set_attributes;
use crate::error::step;
use crate::point::{descriptor_path, is_directory, look_up};

/// A `/dev/null` that neither the sandbox nor an image can have replaced, below the scratch directory.
const NOTHING: &str = "null";
/// The device number of `/dev/null` (Documentation/admin-guide/devices.txt).
const NOTHING_NUMBER: (u32, u32) = (1, 3);

/// Hides paths: an empty directory lies over a directory, `/dev/null` over another file.
pub(super) fn mask_all(
    root: &OwnedFd,
    scratch: BorrowedFd<'_>,
    paths: &[String],
) -> Result<(), ContainerError> {
    if paths.is_empty() {
        return Ok(());
    }
    let (major, minor) = NOTHING_NUMBER;
    let number = makedev(major, minor);
    let mode = Mode::from_raw_mode(0o666);
    mknodat(scratch, NOTHING, FileType::CharacterDevice, mode, number)
        .map_err(step("make a device to mask files with"))?;
    let nothing = format!("/proc/self/fd/{}/{NOTHING}", scratch.as_raw_fd());
    for path in paths {
        mask(root, &nothing, path).map_err(step(format!("mask {path}")))?;
    }
    Ok(())
}

fn mask(root: &OwnedFd, nothing: &str, path: &str) -> io::Result<()> {
    let Some(found) = look_up(root, path)? else {
        return Ok(());
    };
    let point = descriptor_path(&found);
    if is_directory(&found)? {
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", point, "tmpfs", flags, Some(c"mode=755"))?;
    } else {
        mount_bind(nothing, point)?;
    }
    Ok(())
}

/// Makes paths read-only, with everything that is mounted below them.
pub(super) fn close_all(root: &OwnedFd, paths: &[String]) -> Result<(), ContainerError> {
    paths
        .iter()
        .try_for_each(|path| close(root, path).map_err(step(format!("make {path} read-only"))))
}

fn close(root: &OwnedFd, path: &str) -> io::Result<()> {
    let Some(found) = look_up(root, path)? else {
        return Ok(());
    };
    let point = descriptor_path(&found);
    mount_bind_recursive(&point, &point)?;
    // The path leads to the new mount now.
    let mounted = look_up(root, path)?.ok_or(io::ErrorKind::NotFound)?;
    set_attributes(&mounted, flags::READ_ONLY, true)
}
