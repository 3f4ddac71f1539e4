//! The attributes of a new file, and the way to it: nothing here follows a symlink unless it is told.

use fstree::{FileType, Metadata, Xattrs};
use rustix::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, chmod, chmodat, chownat,
    fchmod, fchown, fsetxattr, futimens, openat, utimensat,
};
use rustix::io::Errno;

use crate::{EntryRef, kept};

/// Opens a directory by its name in another one, to go on from it. A symlink is an error unless
/// `follow` is true.
///
/// # Errors
/// If there is no directory of this name, or it cannot be entered.
pub fn enter(entry: EntryRef<'_>, follow: bool) -> rustix::io::Result<OwnedFd> {
    let mut flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    openat(entry.directory, entry.name, flags, Mode::empty())
}

/// Sets the attributes of an open file: permissions, time and `user.*` xattrs; with `keep_owner`
/// also the owner and file capabilities. A filesystem without xattrs leaves them out.
///
/// # Errors
/// If the filesystem refuses an attribute.
pub fn set_attributes(
    file: BorrowedFd<'_>,
    metadata: &Metadata,
    keep_owner: bool,
) -> rustix::io::Result<()> {
    // A change of owner clears other attributes.
    if keep_owner {
        let (uid, gid) = owner(metadata);
        fchown(file, uid, gid)?;
    }
    set_xattrs(file, &metadata.xattrs, keep_owner)?;
    fchmod(file, Mode::from_raw_mode(metadata.mode.into()))?;
    futimens(file, &times(metadata))
}

/// Sets the attributes of a file that was just made, in a directory that is held open, and that
/// cannot be opened itself: a symlink, a pipe or a device. It gets no xattrs. `descriptors` is the
/// directory of this process's open files, if that is not `/proc/self/fd`.
///
/// # Errors
/// If the filesystem refuses an attribute.
pub fn set_entry_attributes(
    entry: EntryRef<'_>,
    file_type: FileType,
    metadata: &Metadata,
    keep_owner: bool,
    descriptors: Option<BorrowedFd<'_>>,
) -> rustix::io::Result<()> {
    let EntryRef { directory, name } = entry;
    let itself = AtFlags::SYMLINK_NOFOLLOW;
    if keep_owner {
        let (uid, gid) = owner(metadata);
        chownat(directory, name, uid, gid, itself)?;
    }
    if file_type != FileType::Symlink {
        let mode = Mode::from_raw_mode((metadata.mode & 0o1777).into());
        set_entry_mode(entry, mode, descriptors)?;
    }
    utimensat(directory, name, &times(metadata), itself)
}

/// Sets the permissions of a file that cannot be opened itself. A symlink that took its place is an
/// error: `fchmodat` would follow it, and has no flag against that before Linux 6.6.
fn set_entry_mode(
    entry: EntryRef<'_>,
    mode: Mode,
    descriptors: Option<BorrowedFd<'_>>,
) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(entry.directory, entry.name, flags, Mode::empty())?;
    let number = file.as_raw_fd().to_string();
    match descriptors {
        Some(descriptors) => chmodat(descriptors, number, mode, AtFlags::empty()),
        None => chmod(format!("/proc/self/fd/{number}"), mode),
    }
}

/// Sets the xattrs that an unpacked file gets.
pub(crate) fn set_xattrs(
    file: BorrowedFd<'_>,
    xattrs: &Xattrs,
    keep_owner: bool,
) -> rustix::io::Result<()> {
    for (name, value) in xattrs {
        if kept::is_unpacked(name, keep_owner) {
            set_xattr(file, name, value)?;
        }
    }
    Ok(())
}

/// Sets an xattr. It is left out if the filesystem has no xattrs or the caller lacks the
/// permission.
fn set_xattr(file: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> rustix::io::Result<()> {
    match fsetxattr(file, name, value, XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP | Errno::PERM) => Ok(()),
        other => other,
    }
}

fn owner(metadata: &Metadata) -> (Option<Uid>, Option<Gid>) {
    (
        Some(Uid::from_raw(metadata.uid)),
        Some(Gid::from_raw(metadata.gid)),
    )
}

fn times(metadata: &Metadata) -> Timestamps {
    let time = Timespec {
        tv_sec: metadata.mtime.seconds,
        tv_nsec: metadata.mtime.nanoseconds.into(),
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fd::AsFd as _;
    use rustix::fs::mknodat;

    use super::*;

    #[test]
    fn the_permissions_of_a_symlinks_target_stay() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("target");
        fs::write(&target, "").expect("written");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("set");
        symlink("target", directory.path().join("link")).expect("made");
        let open = File::open(directory.path()).expect("open");
        let entry = EntryRef {
            directory: open.as_fd(),
            name: b"link",
        };
        let metadata = Metadata::with_mode(0o666);
        let descriptors = File::open("/proc/self/fd").expect("open");
        for descriptors in [None, Some(descriptors.as_fd())] {
            set_entry_attributes(entry, FileType::Fifo, &metadata, false, descriptors)
                .expect_err("a symlink");
        }
        let found = fs::metadata(&target).expect("there").permissions().mode();
        assert_eq!(found & 0o7777, 0o600);
    }

    #[test]
    fn a_pipe_gets_its_permissions_through_either_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = File::open(directory.path()).expect("open");
        let descriptors = File::open("/proc/self/fd").expect("open");
        let entry = EntryRef {
            directory: open.as_fd(),
            name: b"pipe",
        };
        mknodat(&open, "pipe", rustix::fs::FileType::Fifo, Mode::RUSR, 0).expect("made");
        for (mode, descriptors) in [(0o604, None), (0o622, Some(descriptors.as_fd()))] {
            let metadata = Metadata::with_mode(mode);
            set_entry_attributes(entry, FileType::Fifo, &metadata, false, descriptors)
                .expect("set");
            let found = fs::metadata(directory.path().join("pipe")).expect("there");
            assert_eq!(found.permissions().mode() & 0o7777, u32::from(mode));
        }
    }
}
