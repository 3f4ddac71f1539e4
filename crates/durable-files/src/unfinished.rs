//! Archives that are not complete yet, beside their destinations.
//!
//! A process that is killed leaves one. It is locked while its process lives, so the next save into
//! the same directory knows it and removes it.

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;
use tempfile::{NamedTempFile, TempDir};

use crate::{sync_directory, temporary_directory, temporary_file};

/// The start of the names of unfinished archives. Random letters and digits follow.
const PREFIX: &str = ".msb-save-";
/// The number of random letters and digits.
const RANDOM_LENGTH: usize = 6;

/// A file that gets the name of its destination when it is complete. It is removed unless it does.
#[derive(Debug)]
pub struct UnfinishedFile {
    file: NamedTempFile,
    _lock: File,
}

/// A directory that gets the name of its destination when it is complete. It is removed unless it
/// does.
#[derive(Debug)]
pub struct UnfinishedDirectory {
    directory: TempDir,
    _lock: File,
}

impl UnfinishedFile {
    /// Makes a file in a directory, from which it removes those that killed processes left.
    ///
    /// # Errors
    /// If the file cannot be made or locked.
    pub fn create(directory: &Path) -> io::Result<Self> {
        sweep(directory);
        loop {
            let file = temporary_file(directory, PREFIX)?;
            if let Some(lock) = lock(file.path())? {
                return Ok(Self { file, _lock: lock });
            }
        }
    }

    /// Returns the file, to be written.
    pub fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Syncs the file and renames it to `path` in the directory `parent`, durably.
    ///
    /// # Errors
    /// If the file cannot be synced or renamed; an older one is kept then.
    pub fn publish(self, path: &Path, parent: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(path).map_err(|error| error.error)?;
        sync_directory(parent)
    }
}

impl UnfinishedDirectory {
    /// Makes a directory in a directory, from which it removes those that killed processes left.
    ///
    /// # Errors
    /// If the directory cannot be made or locked.
    pub fn create(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        loop {
            let directory = temporary_directory(parent, PREFIX)?;
            if let Some(lock) = lock(directory.path())? {
                return Ok(Self {
                    directory,
                    _lock: lock,
                });
            }
        }
    }

    /// Returns the path of the directory, to be filled.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Renames the directory, whose files are synced, to `path` in the directory `parent`, durably.
    ///
    /// # Errors
    /// If the directory cannot be renamed.
    pub fn publish(self, path: &Path, parent: &Path) -> io::Result<()> {
        fs::rename(self.directory.path(), path)?;
        // The name is another one now; there is nothing left to remove.
        let _ = self.directory.keep();
        sync_directory(parent)
    }
}

/// Locks a new file or directory. `None` if a sweep took it for a leftover before.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = match fs::File::open(path) {
        Ok(file) => file.into_parts().0,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // On a filesystem without locks nothing can be swept either.
    let _ = file.lock();
    let locked = file.metadata()?;
    let is_there = fs::symlink_metadata(path)
        .is_ok_and(|now| (now.dev(), now.ino()) == (locked.dev(), locked.ino()));
    Ok(is_there.then_some(file))
}

/// Returns the paths of the unfinished files in a directory whose processes have ended; none if the directory does
/// not exist.
///
/// # Errors
/// If the directory cannot be listed.
pub fn leftovers(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut leftovers = unfinished(directory)?;
    // One that cannot be opened is not known to be a leftover.
    leftovers.retain(|path| matches!(ended(path), Ok(Some((_, kind))) if kind.is_file()));
    leftovers.sort_unstable();
    Ok(leftovers)
}

/// Removes the unfinished archives whose processes have ended. One that cannot be removed stays.
fn sweep(directory: &Path) {
    for path in unfinished(directory).unwrap_or_default() {
        let _ = remove_ended(&path);
    }
}

/// Returns the paths of all unfinished files and directories in a directory.
fn unfinished(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        if is_unfinished(&entry.file_name().to_string_lossy()) {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// Returns an unfinished file, locked, with its type; `None` if its process lives.
fn ended(path: &Path) -> io::Result<Option<(File, FileType)>> {
    // Others may write to the directory: a pipe would make the opening wait.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?.into_parts().0;
    let kind = file.metadata()?.file_type();
    Ok(file.try_lock().is_ok().then_some((file, kind)))
}

fn remove_ended(path: &Path) -> io::Result<()> {
    match ended(path)? {
        Some((_lock, kind)) if kind.is_dir() => fs::remove_dir_all(path),
        Some((_lock, kind)) if kind.is_file() => fs::remove_file(path),
        _ => Ok(()),
    }
}

fn is_unfinished(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == RANDOM_LENGTH && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("listed");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.into_string().expect("text"))
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_being_written_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let (file, other) = (
            UnfinishedFile::create(root).expect("made"),
            UnfinishedDirectory::create(root).expect("made"),
        );
        fs::write(root.join(".msb-save-AbC123"), "left").expect("written");
        fs::create_dir_all(root.join(".msb-save-zzzzzz/blobs")).expect("made");
        fs::write(root.join(".msb-save-of mine"), "kept").expect("written");
        let left = [root.join(".msb-save-AbC123")];
        assert_eq!(leftovers(root).expect("listed"), left);
        let none = leftovers(&root.join("none"));
        assert!(none.expect("no directory").is_empty());
        let next = UnfinishedFile::create(root).expect("made");
        assert_eq!(names(root).len(), 4, "{:?}", names(root));
        file.publish(&root.join("archive"), root)
            .expect("published");
        other
            .publish(&root.join("layout"), root)
            .expect("published");
        drop(next);
        assert_eq!(names(root), [".msb-save-of mine", "archive", "layout"]);
    }
}
