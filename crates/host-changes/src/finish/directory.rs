//! Directories of the host: made with what the next run needs, and finished when all is in them.

use std::fs::File;
use std::io;

use fstree::Metadata;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Mode, fstat, mkdirat};
use rustix::io::Errno;
use tree_archive::set_attributes;

use super::{Ended, Finisher};
use crate::ApplyError;
use crate::host_directory::split;
use crate::pending::NewAttributes;

/// The bit of a directory's mode by which new files in it get its group.
const SETGID: u32 = 0o2000;

impl<'a> Finisher<'a> {
    /// Makes a directory with its attributes, which are all that the next run leaves as they are if
    /// this one is killed. The caller can write to it. Others cannot enter it before it has its owner.
    pub(super) fn make_directory(
        &mut self,
        path: &'a [u8],
        attributes: &'a NewAttributes,
    ) -> Result<Ended, ApplyError> {
        let Some(parent) = self.parent(path)? else {
            return Ok(Ended::Left(None));
        };
        match mkdirat(&parent, split(path).1, Mode::RWXU) {
            Ok(()) => {}
            // Made by the process that was killed.
            Err(Errno::EXIST) if self.is_resumed => {
                let found = self.directory.open_directory(path);
                // One that is finished may keep its owner out.
                if found.is_err() || self.directory.open_to_read(path).is_err() {
                    return Ok(Ended::Left(None));
                }
            }
            Err(Errno::EXIST) => return Ok(Ended::Left(None)),
            Err(error) => return Err(self.directory.failed("create", path)(error)),
        }
        let directory = self.directory.open_to_read(path)?;
        let mut metadata = self.directory_metadata(&directory, path, attributes)?;
        metadata.mode |= 0o700;
        set_attributes(directory.as_fd(), &metadata, self.keep_owner)
            .map_err(self.directory.failed("set the attributes of", path))?;
        self.directories.insert(path, (attributes, true));
        Ok(Ended::Done)
    }

    /// Returns the attributes that a directory of the host gets. Without owners it keeps its setgid
    /// bit, by which the host gives new files their group.
    fn directory_metadata(
        &self,
        directory: &OwnedFd,
        path: &[u8],
        attributes: &NewAttributes,
    ) -> Result<Metadata, ApplyError> {
        let mut metadata = attributes.metadata();
        if !self.keep_owner {
            let stat = fstat(directory).map_err(self.directory.failed("inspect", path))?;
            metadata.mode |= u16::try_from(stat.st_mode & SETGID).unwrap_or(0);
        }
        Ok(metadata)
    }

    /// Gives directories their attributes, and makes all attributes and names durable.
    pub(super) fn finish(&self) -> Result<(), ApplyError> {
        for path in &self.touched {
            // It may have been removed, and be a file now.
            if let Some(directory) = self.existing(path)? {
                self.sync(directory, path)?;
            }
        }
        // Of a directory's path the longer ones come later. Permissions are last: a directory may
        // be one that its owner cannot open.
        for (path, &(attributes, is_new)) in self.directories.iter().rev() {
            let Some(directory) = self.existing(path)? else {
                continue;
            };
            let metadata = self.directory_metadata(&directory, path, attributes)?;
            if is_new {
                set_attributes(directory.as_fd(), &metadata, self.keep_owner)
                    .map_err(self.directory.failed("set the attributes of", path))?;
            } else {
                self.set_owner(&directory, &metadata, path)?;
                self.set_mode(&directory, metadata.mode.into(), path)?;
            }
            self.sync(directory, path)?;
        }
        let synced = self.syncing.finish_attributes();
        synced.map_err(|source| ApplyError::Host {
            action: "sync the new files in",
            path: self.directory.path_of(b""),
            source,
        })
    }

    /// Makes the names and the attributes of a directory durable, unless its filesystem is synced at the end: each sync
    /// of a directory would make the disk flush its cache once more.
    fn sync(&self, directory: OwnedFd, path: &[u8]) -> Result<(), ApplyError> {
        let synced = self.syncing.note_attributes(&File::from(directory));
        synced.map_err(|source| ApplyError::Host {
            action: "sync",
            path: self.directory.path_of(path),
            source,
        })
    }

    /// Opens a directory for reading. `None` if the host has none there, or if the process that was killed has
    /// finished it with permissions that keep its owner out.
    fn existing(&self, path: &[u8]) -> Result<Option<OwnedFd>, ApplyError> {
        match self.directory.open_to_read(path) {
            Ok(directory) => Ok(Some(directory)),
            Err(ApplyError::Host { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) || (self.is_resumed && source.kind() == io::ErrorKind::PermissionDenied) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
