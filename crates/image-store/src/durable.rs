//! Files that are complete or absent after a crash.

use std::io::{self, Write as _};
use std::path::Path;

use fs_err as fs;

use super::session::Session;

/// Renames finished and synced files of a session to their final names, then syncs the directory.
pub fn publish(files: &[(&Path, &Path)]) -> io::Result<()> {
    for (from, to) in files {
        fs::rename(from, to)?;
    }
    match files.first().and_then(|(_, to)| to.parent()) {
        Some(directory) => sync_directory(directory),
        None => Ok(()),
    }
}

/// Writes and syncs a file of a session.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private_files::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes `path` contain `bytes`, durably. A file with this content is not written again, but its
/// directory is synced: the process that renamed the file may have been killed before its sync.
pub fn replace(session: &Session, path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(present) if present == bytes => return path.parent().map_or(Ok(()), sync_directory),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = session.path(&format!("{name}.part"));
    write(&part, bytes)?;
    publish(&[(&part, path)])
}

/// Makes the names in a directory durable.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}
