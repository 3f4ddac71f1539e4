use std::fs::File;
use std::sync::Arc;

use fstree::FileType;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Dir, Mode, OFlags, Stat, openat, readlinkat};
use serde::{Deserialize, Serialize};
use tree_archive::{EntryRef, enter};

use super::unfinished_name::is_unfinished;

/// A file of the host, in its open directory.
#[derive(Debug)]
pub(super) struct HostFile {
    pub(super) parent: Arc<OwnedFd>,
    pub(super) name: Vec<u8>,
    pub(super) stat: Stat,
}

/// The part of a file's attributes that changes if somebody replaces or writes it. The time of the
/// last change is not in it: that changes with the file's other names, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HostState {
    inode: u64,
    size_bytes: i64,
    modified: (i64, u64),
}

impl HostFile {
    pub(super) fn state(&self) -> HostState {
        HostState::new(&self.stat)
    }

    /// Returns the type; `None` for one that no kernel knows.
    pub(super) fn file_type(&self) -> Option<FileType> {
        FileType::from_mode(u16::try_from(self.stat.st_mode).ok()?)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.file_type() == Some(FileType::Directory)
    }

    /// Opens a regular file for reading.
    pub(super) fn open(&self) -> rustix::io::Result<File> {
        // Another kind of file that took its place must not make the opening wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.parent, &self.name[..], flags, Mode::empty())?;
        Ok(File::from(file))
    }

    pub(super) fn link_target(&self) -> rustix::io::Result<Vec<u8>> {
        let target = readlinkat(&self.parent, &self.name[..], Vec::new())?;
        Ok(target.into_bytes())
    }

    /// Returns the names in the directory, without those of unfinished files.
    pub(super) fn names(&self) -> rustix::io::Result<Vec<Vec<u8>>> {
        let entry = EntryRef {
            directory: self.parent.as_fd(),
            name: &self.name,
        };
        let mut names = names(&enter(entry, false)?)?;
        names.retain(|name| !is_unfinished(name));
        Ok(names)
    }
}

impl HostState {
    /// Returns true if the number of the inode is even.
    #[cfg(feature = "fuzzing")]
    pub(super) const fn is_even(&self) -> bool {
        self.inode.is_multiple_of(2)
    }

    pub(super) fn new(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size_bytes: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

/// Returns the names in an open directory.
pub(super) fn names(directory: &OwnedFd) -> rustix::io::Result<Vec<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(directory, c".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}
