//! Changes of attributes, in the order of OpenSSH's server: size, permissions, times, owner.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, chmod, chownat, fchmod,
    fchown, fstat, ftruncate, futimens, open, utimensat,
};
use rustix::io::Errno;

use crate::files::PERMISSIONS;
use crate::{Attributes, Status};

/// Changes a file, through symlinks.
pub(crate) fn of_path(path: &[u8], attributes: &Attributes) -> Result<(), Status> {
    if let Some(size_bytes) = attributes.size_bytes {
        // A pipe without a reader fails; it has no size, and the server would wait.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty())?;
        ftruncate(file, size_bytes)?;
    }
    if let Some(mode) = attributes.mode {
        chmod(path, permissions(mode))?;
    }
    times_and_owner(path, attributes, AtFlags::empty())
}

/// Changes a file, or a symlink itself.
pub(crate) fn of_path_itself(path: &[u8], attributes: &Attributes) -> Result<(), Status> {
    if attributes.size_bytes.is_some() {
        return Err(Status::BadMessage);
    }
    if let Some(mode) = attributes.mode {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::Symlink {
            return Err(Errno::OPNOTSUPP.into());
        }
        // A descriptor that is only a path can be changed only by its name.
        chmod(
            format!("/proc/self/fd/{}", file.as_raw_fd()),
            permissions(mode),
        )?;
    }
    times_and_owner(path, attributes, AtFlags::SYMLINK_NOFOLLOW)
}

fn times_and_owner(path: &[u8], attributes: &Attributes, flags: AtFlags) -> Result<(), Status> {
    if let Some(times) = times(attributes) {
        utimensat(CWD, path, &times, flags)?;
    }
    if let Some((user, group)) = owner(attributes) {
        chownat(CWD, path, user, group, flags)?;
    }
    Ok(())
}

/// Changes an open file.
pub(crate) fn of_file(file: BorrowedFd<'_>, attributes: &Attributes) -> Result<(), Status> {
    if let Some(size_bytes) = attributes.size_bytes {
        ftruncate(file, size_bytes)?;
    }
    if let Some(mode) = attributes.mode {
        fchmod(file, permissions(mode))?;
    }
    if let Some(times) = times(attributes) {
        futimens(file, &times)?;
    }
    if let Some((user, group)) = owner(attributes) {
        fchown(file, user, group)?;
    }
    Ok(())
}

/// Returns the numbers of the user and the group. The highest number means that one stays unchanged.
fn owner(attributes: &Attributes) -> Option<(Option<Uid>, Option<Gid>)> {
    let (user, group) = attributes.owner?;
    let user = (user != u32::MAX).then(|| Uid::from_raw(user));
    let group = (group != u32::MAX).then(|| Gid::from_raw(group));
    Some((user, group))
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & PERMISSIONS)
}

fn times(attributes: &Attributes) -> Option<Timestamps> {
    let time = |seconds: u32| Timespec {
        tv_sec: seconds.into(),
        tv_nsec: 0,
    };
    attributes.times_s.map(|(accessed, modified)| Timestamps {
        last_access: time(accessed),
        last_modification: time(modified),
    })
}
