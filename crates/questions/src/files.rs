use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;

/// The size limit of one file of a journal, in bytes. There are four: one for the questions that a client
/// allowed, one for all others, and for each of them one with the older records.
pub const FILE_MAX_BYTES: u64 = 512 << 10;

/// Returns the path of the records of allowed questions, which no other ones push out.
pub(crate) fn allowed(path: &Path) -> PathBuf {
    with_suffix(path, ".allowed")
}

/// Returns the path of the records that are older than those at `path`.
pub(crate) fn older(path: &Path) -> PathBuf {
    with_suffix(path, ".1")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes something that is no regular file.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(found) if !found.is_file() => fs::remove_file(path),
        _ => Ok(()),
    }
}

/// Opens a file to add to it, and to read its end. A symlink is not followed.
pub(crate) fn append(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let options = options.read(true).append(true).create(true).mode(0o600);
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a file to read it; `None` if it does not exist. A symlink is not followed, a FIFO is not waited for.
pub(crate) fn read(path: &Path) -> io::Result<Option<fs::File>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        let message = format!("{} is not a regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(Some(file))
}
