use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable_files::flock;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use fstree::FileType;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use tree_archive::{EntryRef, enter};
use tree_diff::{TEXT_MAX_BYTES, is_text};

use super::ApplyError;
use super::directory_identity::DirectoryIdentity;
use super::host_file::HostFile;

/// The directory of the host that changes are put into. Paths are relative to it, and no symlink
/// below it is followed.
#[derive(Debug)]
pub(super) struct HostDirectory {
    path: PathBuf,
    /// The open and locked directory.
    file: fs_err::File,
}

/// A file of the host at a path.
#[derive(Debug)]
pub(super) enum Found {
    /// There is no file, and no file in the place of a directory above it.
    Missing,
    /// A file that is not a directory is in the place of the directory with this path.
    Blocked(Vec<u8>),
    Present(HostFile),
}

impl HostDirectory {
    /// Opens a directory, and locks it until this value is dropped.
    pub(super) fn open(path: &Path) -> Result<Self, ApplyError> {
        let failed = |source| ApplyError::Directory {
            path: path.to_owned(),
            source,
        };
        // The opening of a pipe would wait for a writer.
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        let mut options = fs_err::OpenOptions::new();
        let options = options.read(true).custom_flags(flags);
        let file = options.open(path).map_err(failed)?;
        let directory = Self {
            path: path.to_owned(),
            file,
        };
        let taken = flock::try_for_a_moment(&directory.file, flock::Kind::Exclusive);
        if taken.map_err(failed)? {
            Ok(directory)
        } else {
            Err(ApplyError::Busy {
                path: path.to_owned(),
            })
        }
    }

    /// Returns the number of the directory.
    pub(super) fn identity(&self) -> Result<DirectoryIdentity, ApplyError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|source| ApplyError::Directory {
            path: self.path.clone(),
            source,
        })?;
        Ok(DirectoryIdentity::new(&metadata))
    }

    /// Returns the path of a file as a user writes it.
    pub(super) fn path_of(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }

    /// Returns an error of the host for a file.
    pub(super) fn failed(
        &self,
        action: &'static str,
        path: &[u8],
    ) -> impl Fn(Errno) -> ApplyError + use<> {
        let path = self.path_of(path);
        move |error| ApplyError::Host {
            action,
            path: path.clone(),
            source: error.into(),
        }
    }

    /// Opens the directory at a path.
    ///
    /// # Errors
    /// `NOENT` if it is missing, `NOTDIR` or `LOOP` if another kind of file is in its place.
    pub(super) fn open_directory(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        let mut directory = self.file.as_fd().try_clone_to_owned().map_err(errno)?;
        for name in components(path) {
            let entry = EntryRef {
                directory: directory.as_fd(),
                name,
            };
            let inner = enter(entry, false)?;
            directory = inner;
        }
        Ok(directory)
    }

    /// Opens the directory at a path for reading.
    pub(super) fn open_to_read(&self, path: &[u8]) -> Result<OwnedFd, ApplyError> {
        let failed = self.failed("open", path);
        let found = self.open_directory(path).map_err(&failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&found, c".", flags, Mode::empty()).map_err(failed)
    }

    /// Finds a file.
    pub(super) fn find(&self, path: &[u8]) -> Result<Found, ApplyError> {
        let above = split(path).0;
        match self.open_directory(above) {
            Ok(parent) => self.find_in(&Arc::new(parent), path),
            Err(Errno::NOENT) => Ok(Found::Missing),
            Err(Errno::NOTDIR | Errno::LOOP) => Ok(Found::Blocked(self.blocker(above))),
            Err(error) => Err(self.failed("find", path)(error)),
        }
    }

    /// Finds a file in the open directory that it is in.
    pub(super) fn find_in(&self, parent: &Arc<OwnedFd>, path: &[u8]) -> Result<Found, ApplyError> {
        let name = split(path).1;
        match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Found::Present(HostFile {
                parent: Arc::clone(parent),
                name: name.to_vec(),
                stat,
            })),
            Err(Errno::NOENT) => Ok(Found::Missing),
            Err(error) => Err(self.failed("find", path)(error)),
        }
    }

    /// Returns the content of a file; `None` if it is no regular file of text.
    pub(super) fn text(&self, path: &[u8], host: &HostFile) -> Result<Option<Vec<u8>>, ApplyError> {
        if host.file_type() != Some(FileType::Regular) {
            return Ok(None);
        }
        let failed = self.failed("read", path);
        let mut text = Vec::new();
        let file = host.open().map_err(&failed)?;
        let mut file = file.take(TEXT_MAX_BYTES + 1);
        file.read_to_end(&mut text)
            .map_err(|error| failed(errno(error)))?;
        Ok(Some(text).filter(|text| is_text(text)))
    }

    /// Opens the directory at a path, or the nearest one above it that exists, whose path is the second value.
    pub(super) fn open_nearest<'p>(
        &self,
        path: &'p [u8],
    ) -> Result<(OwnedFd, &'p [u8]), ApplyError> {
        let mut path = path;
        loop {
            match self.open_directory(path) {
                Ok(directory) => return Ok((directory, path)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !path.is_empty() => {
                    path = split(path).0;
                }
                Err(error) => return Err(self.failed("open", path)(error)),
            }
        }
    }

    /// Returns the first part of a path that is not a directory.
    fn blocker(&self, path: &[u8]) -> Vec<u8> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut ends = ends.map(|(end, _)| end).chain([path.len()]);
        let blocked = ends.find(|&end| self.open_directory(&path[..end]).is_err());
        path[..blocked.unwrap_or(path.len())].to_vec()
    }
}

/// Returns the path of the directory that a path is in, and the last component.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(end) => (&path[..end], &path[end + 1..]),
        None => (b"", path),
    }
}

pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty())
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
