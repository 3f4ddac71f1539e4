//! Files by their paths and their descriptors, with the calls of the system.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::{ffi::OsStr, fs, io};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, lstat, open, rename, renameat_with};
use rustix::io::{Errno, pread, pwrite, write};

use crate::{Attributes, DATA_MAX_BYTES, Open, Status};

/// The permission bits, which the file's type is not among.
pub(crate) const PERMISSIONS: u32 = 0o7777;

/// Opens a file. A new one has the permissions, less the umask.
pub(crate) fn open_file(
    path: &[u8],
    how: Open,
    attributes: &Attributes,
) -> Result<OwnedFd, Status> {
    let has = |flag| how.contains(flag);
    let mut flags = match (has(Open::READ), has(Open::WRITE)) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    for (wanted, flag) in [
        (Open::APPEND, OFlags::APPEND),
        (Open::CREATE, OFlags::CREATE),
        (Open::TRUNCATE, OFlags::TRUNC),
        (Open::EXCLUSIVE, OFlags::EXCL),
    ] {
        flags.set(flag, has(wanted));
    }
    let mode = attributes.mode.unwrap_or(0o666) & PERMISSIONS;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(open(path, flags, Mode::from_raw_mode(mode))?)
}

/// Reads at most this many bytes, in one call of the system.
pub(crate) fn read(
    file: BorrowedFd<'_>,
    offset_bytes: u64,
    length_bytes: u32,
) -> Result<Vec<u8>, Status> {
    let length = usize::try_from(length_bytes).unwrap_or(usize::MAX);
    let mut data = vec![0; length.min(DATA_MAX_BYTES)];
    let count = pread(file, &mut data[..], offset_bytes)?;
    data.truncate(count);
    if data.is_empty() {
        return Err(Status::Eof);
    }
    Ok(data)
}

/// Writes all bytes at an offset, or at the end of a file that is open for that.
pub(crate) fn write_all(
    file: BorrowedFd<'_>,
    is_append: bool,
    mut offset_bytes: u64,
    mut data: &[u8],
) -> Result<(), Status> {
    while !data.is_empty() {
        let written = if is_append {
            write(file, data)
        } else {
            pwrite(file, data, offset_bytes)
        };
        let count = match written {
            Ok(0) => return Err(Status::Failure),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        data = data.get(count..).unwrap_or_default();
        offset_bytes = offset_bytes.saturating_add(u64::try_from(count).unwrap_or_default());
    }
    Ok(())
}

/// Renames a file, unless the new path exists.
pub(crate) fn rename_new(from: &[u8], to: &[u8]) -> Result<(), Status> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The filesystem cannot do both in one step.
        Err(Errno::INVAL | Errno::NOSYS) => match lstat(to) {
            Ok(_) => Err(Status::Failure),
            Err(Errno::NOENT) => Ok(rename(from, to)?),
            Err(error) => Err(error.into()),
        },
        outcome => Ok(outcome?),
    }
}

/// Resolves a path. Its last name may be missing, as a client asks for the path of what it is about to create.
pub(crate) fn real_path(path: &[u8]) -> Result<Vec<u8>, Status> {
    let path = if path.is_empty() { b"." } else { path };
    let path = Path::new(OsStr::from_bytes(path));
    let resolved = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => missing(path, error)?,
        resolved => resolved?,
    };
    Ok(resolved.into_os_string().into_vec())
}

/// Resolves a path whose last name is missing.
fn missing(path: &Path, error: io::Error) -> io::Result<PathBuf> {
    let Some(Component::Normal(name)) = path.components().next_back() else {
        return Err(error);
    };
    // A symlink to a missing file has a name that exists.
    if fs::symlink_metadata(path).is_ok() {
        return Err(error);
    }
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    Ok(fs::canonicalize(parent.unwrap_or(Path::new(".")))?.join(name))
}
