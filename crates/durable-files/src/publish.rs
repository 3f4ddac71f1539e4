use std::io;
use std::io::Write as _;
use std::path::Path;

use fs_err as fs;

use crate::{create_new, ensure_directory, temporary_file};

/// The prefix of the names of unfinished files.
pub const UNFINISHED: &str = ".new-";

/// Publishes a file at `path`: after a crash at any instant it exists completely or not at all.
/// The file is written under another name in the same directory, synced and renamed, and the
/// directory is synced.
///
/// # Errors
/// Fails as `fill` does, or if the filesystem fails; the old file is kept then.
pub fn publish(
    path: &Path,
    fill: impl FnOnce(&mut std::fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    ensure_directory(directory)?;
    let mut file = temporary_file(directory, UNFINISHED)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(directory)
}

/// Writes and syncs a new file, which becomes durable when its directory is synced.
///
/// # Errors
/// If the file exists, or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Renames finished and synced files to their final names, which have one directory, and syncs it.
///
/// # Errors
/// If a file cannot be renamed. The earlier ones have their final names then.
pub fn rename_all(files: &[(&Path, &Path)]) -> io::Result<()> {
    for (from, to) in files {
        fs::rename(from, to)?;
    }
    match files.first().and_then(|(_, to)| to.parent()) {
        Some(directory) => sync_directory(directory),
        None => Ok(()),
    }
}

/// Makes the names in a directory durable.
///
/// # Errors
/// If the directory cannot be opened or synced.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

/// Replaces the file at `path`; a reader sees the old or the new file as a whole.
/// After a power cut the file may be missing or truncated, so this is for content that is written
/// anew whenever it is needed.
///
/// # Errors
/// If the file cannot be written; the old one is kept then.
pub fn replace_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = temporary_file(directory, UNFINISHED)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Publishes bytes in memory as [`publish`] does.
///
/// # Errors
/// If the file cannot be written; the old one is kept then.
pub fn publish_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    publish(path, |file| file.write_all(bytes))
}

/// Publishes the same bytes at several paths of one directory. The files appear in the order of the
/// paths, each complete; all are durable at the end.
///
/// # Errors
/// If a file cannot be written, or the directory does not exist. Files that do not have the bytes
/// then keep the old ones.
pub fn publish_in_order(paths: &[&Path], bytes: &[u8]) -> io::Result<()> {
    let directory = paths.first().and_then(|path| path.parent());
    let directory = directory.unwrap_or(Path::new("."));
    let mut files = Vec::new();
    for path in paths {
        let mut file = temporary_file(directory, UNFINISHED)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        files.push((file, path));
    }
    for (file, path) in files {
        file.persist(path).map_err(|error| error.error)?;
    }
    sync_directory(directory)
}

/// Publishes bytes that every writer of `path` writes, unless the file has them already.
///
/// Of several writers at once the first one's file stays: a process that was permitted to open this
/// file, and no other, can still open it afterwards.
///
/// # Errors
/// If the file cannot be written.
pub fn publish_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if holds(path, bytes) {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    ensure_directory(directory)?;
    let mut file = temporary_file(directory, UNFINISHED)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            if !holds(path, bytes) {
                // A damaged file is replaced.
                error.file.persist(path).map_err(|error| error.error)?;
            }
        }
        Err(error) => return Err(error.error),
    }
    sync_directory(directory)
}

/// Returns true if the file at `path` has exactly these bytes; false if it cannot be read.
pub fn holds(path: &Path, bytes: &[u8]) -> bool {
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

    #[test]
    fn files_in_order_have_the_same_bytes_or_the_old_ones() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| directory.path().join(name);
        let (copy, record) = (path("copy"), path("record"));
        publish_in_order(&[&copy, &record], b"old").expect("published");
        publish_in_order(&[&copy, &record], b"new").expect("published");
        // A directory in the place of the last file makes it fail there.
        fs::remove_file(&record).expect("removed");
        fs::create_dir_all(record.join("in the way")).expect("made");
        publish_in_order(&[&copy, &record], b"newer").expect_err("in the way");
        assert_eq!(fs::read(&copy).expect("readable"), b"newer");
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 2);
        publish_in_order(&[&path("none/a")], b"").expect_err("no directory");
    }

    #[test]
    fn of_writers_at_once_the_first_files_stay() {
        use std::os::unix::fs::MetadataExt as _;
        let directory = tempfile::tempdir().expect("a temporary directory");
        for round in 0..50 {
            let path = directory.path().join(round.to_string());
            let inode = || {
                publish_once(&path, b"the same").expect("published");
                fs::metadata(&path).expect("published").ino()
            };
            let inodes: Vec<u64> = std::thread::scope(|scope| {
                let writers: Vec<_> = (0..4).map(|_| scope.spawn(inode)).collect();
                let inodes = writers.into_iter().map(|writer| writer.join());
                inodes.map(|inode| inode.expect("no panic")).collect()
            });
            assert!(inodes.iter().all(|inode| *inode == inodes[0]), "{inodes:?}");
        }
        assert_eq!(
            fs::read_dir(directory.path()).expect("listable").count(),
            50
        );
    }

    #[test]
    fn a_damaged_file_is_replaced_by_what_every_writer_writes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("file");
        publish_bytes(&path, b"damaged").expect("published");
        publish_once(&path, b"the same").expect("published");
        assert_eq!(fs::read(&path).expect("readable"), b"the same");
    }
}
