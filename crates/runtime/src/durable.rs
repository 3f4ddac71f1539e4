use std::io;
use std::io::Write as _;
use std::path::Path;

use fs_err as fs;
use tempfile::NamedTempFile;

/// How the names of unfinished files begin.
pub(crate) const UNFINISHED: &str = ".new-";

/// Puts a file at `path` so that a crash at any instant leaves either all of it or none: written
/// under another name in the same directory, synced, renamed, the directory synced.
pub(crate) fn publish(
    path: &Path,
    fill: impl FnOnce(&mut std::fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    make_directory(directory)?;
    let mut file = NamedTempFile::with_prefix_in(UNFINISHED, directory)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(directory)
}

/// Makes a directory that may be there, whatever the host says of it.
fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(path),
        other => other,
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

/// Puts a file at `path`, whole or not at all for whoever reads it. After a power cut it may be lost or cut:
/// for what is written anew whenever it is needed.
pub(crate) fn replace_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::with_prefix_in(UNFINISHED, directory)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// [`publish`] for bytes that are at hand.
pub(crate) fn publish_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    publish(path, |file| file.write_all(bytes))
}

/// Whether the file at `path` has these bytes and no others. One that cannot be read has not.
pub(crate) fn holds(path: &Path, bytes: &[u8]) -> bool {
    let same_length = fs::metadata(path).is_ok_and(|file| file.len() == bytes.len() as u64);
    same_length && fs::read(path).is_ok_and(|present| present == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_fill_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("file");
        publish_bytes(&path, b"old").expect("published");
        publish(&path, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        })
        .expect_err("the fill fails");
        assert_eq!(fs::read(&path).expect("readable"), b"old");
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 1);
    }
}
