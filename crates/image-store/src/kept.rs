//! Records that cannot be derived from anything else in the store: images, origins, names. Each is
//! written twice, the copy first. The record counts; the copy repairs it.

use std::io;
use std::path::Path;

use fs_err as fs;
use serde::Serialize;

use super::layout::Layout;
use super::session::Session;

/// Makes the record at `path` and its copy contain `record`, durably.
pub fn write(
    layout: &Layout,
    session: &Session,
    path: &Path,
    record: &impl Serialize,
) -> io::Result<()> {
    let sealed = sealed_records::seal(record)?;
    session.replace(&layout.copy(path), &sealed)?;
    session.replace(path, &sealed)
}

/// Removes the record at `path`, then its copy, durably.
pub fn remove(layout: &Layout, path: &Path) -> io::Result<()> {
    for path in [path, &layout.copy(path)] {
        remove_file(path)?;
        if let Some(directory) = path.parent() {
            durable_files::sync_directory(directory)?;
        }
    }
    Ok(())
}

/// Removes a file that may not exist.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
