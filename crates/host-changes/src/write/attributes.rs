//! Owners and permissions of files of the host that are opened for nothing else.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use fs_err as fs;
use fstree::{FileKind, InodeId, Metadata};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chownat, fstat, openat};

use super::Writer;
use crate::attributes::Attributes;
use crate::host_directory::split;
use crate::{ApplyError, HostSource, Step};

impl<S: HostSource> Writer<'_, S> {
    /// Changes the attributes of a file of the host. The file is opened without reading or writing
    /// it, which may not be permitted.
    pub(super) fn change_attributes(&mut self, step: &Step, id: InodeId) -> Result<(), ApplyError> {
        let parent = self.parent(&step.path)?;
        self.unchanged(&parent, step)?;
        let failed = self.directory.failed("set the attributes of", &step.path);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&parent, split(&step.path).1, flags, Mode::empty()).map_err(&failed)?;
        let inode = self.side.tree().inode(id);
        let mut metadata = inode.metadata.clone();
        metadata.mode = Attributes::of_sandbox(&metadata, self.keep_owner).mode;
        self.set_owner(&file, &metadata, &step.path)?;
        // A symlink has no permissions of its own.
        match inode.kind {
            FileKind::Symlink(_) => Ok(()),
            _ => self.set_mode(&file, &metadata, &step.path),
        }
    }

    /// Sets the owner of a file that is opened for nothing else, if owners are applied.
    pub(super) fn set_owner(
        &self,
        file: &OwnedFd,
        metadata: &Metadata,
        path: &[u8],
    ) -> Result<(), ApplyError> {
        if !self.keep_owner {
            return Ok(());
        }
        let failed = self.directory.failed("set the attributes of", path);
        // Even a change to the same owner would clear the capabilities of the file.
        let stat = fstat(file).map_err(&failed)?;
        if (stat.st_uid, stat.st_gid) == (metadata.uid, metadata.gid) {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(metadata.uid), Gid::from_raw(metadata.gid));
        chownat(file, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH).map_err(failed)
    }

    /// Sets the permissions of a file that is opened for nothing else.
    pub(super) fn set_mode(
        &self,
        file: &OwnedFd,
        metadata: &Metadata,
        path: &[u8],
    ) -> Result<(), ApplyError> {
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mode = Permissions::from_mode(metadata.mode.into());
        fs::set_permissions(&open, mode).map_err(|source| ApplyError::Host {
            action: "set the attributes of",
            path: self.directory.path_of(path),
            source,
        })
    }
}
