use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use container_plan::{ContainerPlan, Device, DeviceKind, STANDARD_DEVICES};
use rustix::fs::{
    AtFlags, FileType, Mode, chmodat, chownat, makedev, mknodat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::ContainerError;
use crate::error::step;
use crate::point::mount_point;

/// The symlinks that every program expects in `/dev`, each with its target.
pub const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("/proc/kcore", "/dev/core"),
];
/// The symlink to the container's own instance of devpts.
const PTMX: (&str, &str) = ("pts/ptmx", "/dev/ptmx");
const DIRECTORY: &str = "/dev";
/// The permission bits of a device that every container has.
const MODE: u32 = 0o666;

/// Makes the devices of a container, those that every one has and those of the plan, and the links in `/dev`.
pub(super) fn make_all(root: &OwnedFd, plan: &ContainerPlan) -> Result<(), ContainerError> {
    // A `/dev` of the pod has its devices, and is not only this container's.
    let is_bound = |mount: &container_plan::Mount| {
        mount.destination == DIRECTORY && mount.filesystem().is_none()
    };
    if plan.mounts.iter().any(is_bound) {
        return Ok(());
    }
    let standard = STANDARD_DEVICES.iter().map(|device| Device {
        path: device.path.to_owned(),
        kind: DeviceKind::Character.into(),
        major: device.major,
        minor: device.minor,
        mode: MODE,
        ..Device::default()
    });
    for device in standard.chain(plan.devices.iter().cloned()) {
        make(root, &device).map_err(step(format!("make the device {}", device.path)))?;
    }
    for (target, path) in LINKS.into_iter().chain([PTMX]) {
        link(root, target, path).map_err(step(format!("make the link {path}")))?;
    }
    Ok(())
}

/// Makes a device node. Another file of the image in its place is removed.
fn make(root: &OwnedFd, device: &Device) -> io::Result<()> {
    let kind = match device.kind() {
        DeviceKind::Character => FileType::CharacterDevice,
        DeviceKind::Block => FileType::BlockDevice,
        DeviceKind::Any => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let (directory, name) = place(root, &device.path)?;
    let number = makedev(device.major, device.minor);
    let mode = Mode::from_raw_mode(device.mode);
    if let Ok(found) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        let is_same = FileType::from_raw_mode(found.st_mode) == kind && found.st_rdev == number;
        if is_same && found.st_mode & 0o7777 == device.mode {
            return Ok(());
        }
        unlinkat(&directory, name, AtFlags::empty())?;
    }
    mknodat(&directory, name, kind, mode, number)?;
    let (uid, gid) = (Uid::from_raw(device.uid), Gid::from_raw(device.gid));
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    chownat(&directory, name, Some(uid), Some(gid), flags)?;
    // The change of the owner may have removed bits. No other process sees the node yet.
    Ok(chmodat(&directory, name, mode, AtFlags::empty())?)
}

/// Makes a symlink, unless a file of the image is in its place.
fn link(root: &OwnedFd, target: &str, path: &str) -> io::Result<()> {
    let (directory, name) = place(root, path)?;
    match symlinkat(target, &directory, name) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens the directory of a path, and makes it if it is missing. Returns it with the last name.
fn place<'a>(root: &OwnedFd, path: &'a str) -> io::Result<(OwnedFd, &'a std::ffi::OsStr)> {
    let path = Path::new(path);
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((mount_point(root, directory)?, name))
}
