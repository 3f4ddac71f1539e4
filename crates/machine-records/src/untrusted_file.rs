//! Reads files in `written/`. They are untrusted: the VMM process made them, and a guest may have
//! taken that process over.
//! A file there may be of any length or type, with any content.

use std::io::{self, Read as _};
use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;

/// Length limit of the description of a job or of an exit, in bytes.
const DESCRIPTION_MAX_BYTES: u64 = 64 << 10;

/// Opens a file; `None` if it does not exist.
///
/// # Errors
/// Also if it is not a regular file: a symlink is not followed, a FIFO is not waited for.
pub fn open(path: &Path) -> io::Result<Option<fs::File>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() {
        Ok(Some(file))
    } else {
        Err(nonsense(path, "is not a regular file"))
    }
}

/// Opens a file for reading and appending. A symlink is not followed.
///
/// # Errors
/// If the file does not exist, or cannot be opened.
pub fn open_to_append(path: &Path) -> io::Result<fs::File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    fs::OpenOptions::new()
        .read(true)
        .append(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// Reads a short file; `None` if it does not exist.
///
/// # Errors
/// Fails as [`open`] does, and if the file is longer than 64 KiB.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(DESCRIPTION_MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DESCRIPTION_MAX_BYTES {
        Err(nonsense(path, "is longer than 64 KiB"))
    } else {
        Ok(Some(bytes))
    }
}

/// Removes the file or directory at `path`, of any type.
///
/// # Errors
/// If it cannot be removed.
pub fn clear(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes what is at `path`, unless it is a regular file.
///
/// # Errors
/// If it cannot be removed.
pub fn clear_unless_regular(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => clear(path),
        _ => Ok(()),
    }
}

fn nonsense(path: &Path, why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{} {why}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use testkit::misfits;

    use super::*;

    #[test]
    fn only_short_regular_files_are_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        assert!(read(&path).expect("read").is_none());
        for kind in misfits(&path) {
            assert_eq!(read(&path).is_ok(), kind == "half a file", "{kind}");
        }
    }
}
