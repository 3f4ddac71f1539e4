//! Directories of the host: made with what the next run needs, and finished when all is in them.

use std::io;

use fstree::{InodeId, Metadata};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, Mode, fstat, fsync, mkdirat, unlinkat};
use rustix::io::Errno;
use tree_archive::set_attributes;

use super::Writer;
use crate::attributes::Attributes;
use crate::host_directory::split;
use crate::{ApplyError, HostAction, HostSource, Step};

/// The bit of a directory's mode by which new files in it get its group.
const SETGID: u32 = 0o2000;

impl<S: HostSource> Writer<'_, S> {
    /// Does a step that makes a directory, or changes its attributes.
    pub(super) fn make_directory(&mut self, step: &Step, id: InodeId) -> Result<(), ApplyError> {
        let path = &step.path;
        if step.action == HostAction::ChangeAttributes {
            self.directories.insert(path.clone(), (id, false));
            return Ok(());
        }
        let parent = self.parent(path)?;
        if step.host.is_some() {
            self.unchanged(&parent, step)?;
            unlinkat(&parent, split(path).1, AtFlags::empty())
                .map_err(self.directory.failed("replace", path))?;
        }
        self.add_directory(&parent, path, id)
    }

    /// Makes a directory with its attributes, which are all that the next run leaves as they are if
    /// this one is killed. The caller can write to it. Others cannot enter it before it has its owner.
    pub(super) fn add_directory(
        &mut self,
        parent: &OwnedFd,
        path: &[u8],
        id: InodeId,
    ) -> Result<(), ApplyError> {
        match mkdirat(parent, split(path).1, Mode::RWXU) {
            Err(Errno::EXIST) => Err(self.changed(path)),
            made => made.map_err(self.directory.failed("create", path)),
        }?;
        let directory = self.directory.open_to_read(path)?;
        let mut metadata = self.directory_metadata(&directory, path, id)?;
        metadata.mode |= 0o700;
        set_attributes(directory.as_fd(), &metadata, self.keep_owner)
            .map_err(self.directory.failed("set the attributes of", path))?;
        self.directories.insert(path.to_vec(), (id, true));
        Ok(())
    }

    /// Returns the attributes that a directory of the host gets. Without owners it keeps its setgid
    /// bit, by which the host gives new files their group.
    fn directory_metadata(
        &self,
        directory: &OwnedFd,
        path: &[u8],
        id: InodeId,
    ) -> Result<Metadata, ApplyError> {
        let mut metadata = self.side.tree().inode(id).metadata.clone();
        metadata.mode = Attributes::of_sandbox(&metadata, self.keep_owner).mode;
        if !self.keep_owner {
            let stat = fstat(directory).map_err(self.directory.failed("inspect", path))?;
            metadata.mode |= u16::try_from(stat.st_mode & SETGID).unwrap_or(0);
        }
        Ok(metadata)
    }

    /// Returns the error of a sync of all new files.
    pub(super) fn not_synced(&self, source: io::Error) -> ApplyError {
        ApplyError::Host {
            action: "sync the new files in",
            path: self.directory.path_of(b""),
            source,
        }
    }

    /// Gives directories their attributes, and makes all attributes and names durable.
    pub(super) fn finish(self) -> Result<(), ApplyError> {
        let synced = self.syncing.finish_attributes();
        synced.map_err(|source| self.not_synced(source))?;
        for path in &self.touched {
            match self.directory.open_to_read(path) {
                Ok(directory) => {
                    fsync(&directory).map_err(self.directory.failed("sync", path))?;
                }
                // It was removed itself, and may be a file now.
                Err(ApplyError::Host { source, .. })
                    if matches!(
                        source.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        // Of a directory's path the longer ones come later. Permissions are last: a directory may
        // be one that its owner cannot open.
        for (path, &(id, is_new)) in self.directories.iter().rev() {
            let directory = self.directory.open_to_read(path)?;
            let metadata = self.directory_metadata(&directory, path, id)?;
            if is_new {
                set_attributes(directory.as_fd(), &metadata, self.keep_owner)
                    .map_err(self.directory.failed("set the attributes of", path))?;
            } else {
                self.set_owner(&directory, &metadata, path)?;
                self.set_mode(&directory, &metadata, path)?;
            }
            fsync(&directory).map_err(self.directory.failed("sync", path))?;
        }
        Ok(())
    }
}
