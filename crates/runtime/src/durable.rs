use std::io;
use std::io::Write as _;
use std::path::Path;

use fs_err as fs;

/// The prefix of the names of unfinished files.
pub(crate) const UNFINISHED: &str = ".new-";

/// Publishes a file at `path`: after a crash at any instant it exists completely or not at all.
/// The file is written under another name in the same directory, synced and renamed, and the
/// directory is synced.
pub(crate) fn publish(
    path: &Path,
    fill: impl FnOnce(&mut std::fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    private_files::ensure_directory(directory)?;
    let mut file = private_files::temporary_file(directory, UNFINISHED)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(directory)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

/// Replaces the file at `path`; a reader sees the old or the new file as a whole.
/// After a power cut the file may be missing or truncated, so this is for content that is written
/// anew whenever it is needed.
pub(crate) fn replace_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = private_files::temporary_file(directory, UNFINISHED)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// [`publish`] for bytes in memory.
pub(crate) fn publish_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    publish(path, |file| file.write_all(bytes))
}

/// Returns true if the file at `path` has exactly these bytes; false if it cannot be read.
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
