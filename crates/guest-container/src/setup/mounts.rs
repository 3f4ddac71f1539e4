use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use container_plan::{Mount, MountSource, PodMemory};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive};

use super::propagate;
use crate::ContainerError;
use crate::attributes::set_attributes;
use crate::error::step;
use crate::point::{descriptor_path, file_point, is_directory, look_up, mount_point};

/// Returns the name of the directory, in that of the agent's own mounts, on which a pod's memory is mounted.
#[must_use]
pub fn memory_name(name: &str) -> String {
    format!("memory-{name}")
}

/// Makes all mounts of a plan, in their order.
pub(super) fn mount_all(root: &OwnedFd, mounts: &[Mount]) -> Result<(), ContainerError> {
    mounts.iter().try_for_each(|mount| mount_one(root, mount))
}

fn mount_one(root: &OwnedFd, each: &Mount) -> Result<(), ContainerError> {
    let destination = &each.destination;
    let action = || format!("mount {destination}");
    let unavailable = |what: String| ContainerError::Unavailable { what };
    if each.copies_up {
        return Err(unavailable(format!("tmpcopyup of the mount {destination}")));
    }
    match &each.source {
        Some(MountSource::Filesystem(_)) => mount_filesystem(root, each).map_err(step(action()))?,
        Some(MountSource::PodMemory(memory)) => {
            bind_memory(root, each, memory).map_err(step(action()))?;
        }
        Some(MountSource::Share(name)) => {
            let what = format!("the share entry {name:?} of the mount {destination}");
            return Err(unavailable(what));
        }
        Some(MountSource::Disk(name)) => {
            let what = format!("the disk {name:?} of the mount {destination}");
            return Err(unavailable(what));
        }
        None => return Err(unavailable(format!("the mount {destination}"))),
    }
    finish(root, each).map_err(step(format!("set up the mount {destination}")))
}

fn mount_filesystem(root: &OwnedFd, each: &Mount) -> io::Result<()> {
    let kind = each.filesystem().ok_or(io::ErrorKind::InvalidInput)?;
    let point = mount_point(root, Path::new(&each.destination))?;
    let flags = MountFlags::from_bits_retain(each.flags);
    let data = CString::new(each.data.as_str())?;
    let path = descriptor_path(&point);
    mount(kind.name(), path, kind.name(), flags, data.as_c_str())?;
    Ok(())
}

/// Binds a directory of the memory that the pod's containers share. Another container may have replaced a directory on
/// the way by a symlink, which is followed inside that memory alone.
fn bind_memory(root: &OwnedFd, each: &Mount, memory: &PodMemory) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let whole = openat2(
        CWD,
        memory_name(&memory.name),
        flags,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    )?;
    let path = if memory.path.is_empty() {
        "."
    } else {
        memory.path.as_str()
    };
    let source = openat2(whole, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
    bind(root, each, &source)
}

fn bind(root: &OwnedFd, each: &Mount, source: &OwnedFd) -> io::Result<()> {
    let destination = Path::new(&each.destination);
    let point = if is_directory(source)? {
        mount_point(root, destination)?
    } else {
        file_point(root, destination)?
    };
    let (source, point) = (descriptor_path(source), descriptor_path(&point));
    if each.is_recursive {
        mount_bind_recursive(source, point)?;
    } else {
        mount_bind(source, point)?;
    }
    Ok(())
}

/// Sets what a mount has beside its filesystem: the flags of a bind, recursive flags, and the propagation.
fn finish(root: &OwnedFd, each: &Mount) -> io::Result<()> {
    let mounted = look_up(root, &each.destination)?.ok_or(io::ErrorKind::NotFound)?;
    if each.filesystem().is_none() {
        set_attributes(&mounted, each.flags, false)?;
    }
    set_attributes(&mounted, each.recursive_flags, true)?;
    propagate(&mounted, each.propagation)
}
