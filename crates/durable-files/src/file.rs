use std::io;
use std::path::Path;

use fs_err::os::unix::fs::OpenOptionsExt as _;
use fs_err::{File, OpenOptions};
use tempfile::{Builder, NamedTempFile};

use crate::{FILE_MODE, owner};

/// Most times that a file may appear and vanish between two calls.
const TRIES: u32 = 8;

/// Makes a file that does not exist yet, and opens it for reading and writing.
///
/// # Errors
/// Fails as [`File::create_new`] does.
pub fn create_new(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)?;
    owner::give(file.file(), path)?;
    Ok(file)
}

/// Opens a file for reading and writing, and makes it if it does not exist.
///
/// # Errors
/// Fails as [`File::open`] and [`create_new`] do.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let mut to_change = OpenOptions::new();
    to_change.read(true).write(true);
    open_or_create_with(path, &to_change)
}

/// Makes or empties a file, and opens it for reading and writing.
///
/// # Errors
/// Fails as [`File::create`] does.
pub fn create(path: &Path) -> io::Result<File> {
    let mut to_empty = OpenOptions::new();
    to_empty.read(true).write(true).truncate(true);
    open_or_create_with(path, &to_empty)
}

/// Opens or makes a file in two calls: one call could do both, but not report which it did.
fn open_or_create_with(path: &Path, of_present: &OpenOptions) -> io::Result<File> {
    let mut tries = 0;
    loop {
        match create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
        match of_present.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => tries += 1,
            other => return other,
        }
    }
}

/// Makes a file in `directory` with a unique name that begins with `prefix`.
/// It is removed when the value is dropped.
///
/// # Errors
/// Fails as [`Builder::tempfile_in`] does.
pub fn temporary_file(directory: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    // The crate tempfile already sets this mode.
    let file = Builder::new().prefix(prefix).tempfile_in(directory)?;
    owner::give(file.as_file(), file.path())?;
    Ok(file)
}
