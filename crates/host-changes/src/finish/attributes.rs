//! Owners, permissions and times of new files, and of files of the host that are opened for nothing else.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use fs_err as fs;
use fstree::{FileType, Metadata};
use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid, chownat, fchown, fstat, openat};
use rustix::io::Errno;
use tree_archive::{EntryRef, set_attributes, set_entry_attributes};

use super::exchange::Exchange;
use super::{Ended, Finisher, Now, stat};
use crate::ApplyError;
use crate::attributes::Attributes;
use crate::host_directory::split;
use crate::host_file::HostState;
use crate::pending::NewAttributes;
use crate::unfinished::FileIdentity;

/// The permissions of a file that its owner can open.
const OWNERS_MODE: u32 = 0o600;

impl Finisher<'_> {
    /// Gives a new file its attributes right before it gets its place: first the owner, last the permissions and the
    /// time. `keeps` is the file whose permissions and owner it keeps, and `replaced` the one that it replaces.
    pub(super) fn set_attributes(
        &mut self,
        file: &Exchange<'_>,
        path: &[u8],
        (attributes, keeps, replaced): (&NewAttributes, Option<&Stat>, Option<&Stat>),
    ) -> Result<(), ApplyError> {
        let failed = self.directory.failed("set the attributes of", path);
        let mut metadata = attributes.metadata();
        if let Some(stat) = keeps {
            metadata.mode = Attributes::of_host(stat, self.keep_owner).mode;
            (metadata.uid, metadata.gid) = (stat.st_uid, stat.st_gid);
        }
        let found = stat(file.from, file.other).map_err(&failed)?;
        let found = found.ok_or(Errno::NOENT).map_err(&failed)?;
        self.check_is_own(file, &found, path)?;
        // A file that replaces another one gets its owner if the caller is root. Otherwise it belongs to the caller.
        let owner = replaced.filter(|_| !self.keep_owner);
        let owner = owner.map(|stat| (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid)));
        let file_type = FileType::from_mode(u16::try_from(found.st_mode).unwrap_or(0));
        if let Some(file_type) = file_type.filter(|found| *found != FileType::Regular) {
            if let Some((uid, gid)) = owner {
                let itself = AtFlags::SYMLINK_NOFOLLOW;
                let _ = chownat(file.from, file.other, Some(uid), Some(gid), itself);
            }
            let entry = EntryRef {
                directory: file.from.as_fd(),
                name: file.other,
            };
            return set_entry_attributes(entry, file_type, &metadata, self.keep_owner, None)
                .map_err(failed);
        }
        let open = self.open_new(file, path)?;
        self.check_is_own(file, &fstat(&open).map_err(&failed)?, path)?;
        if let Some((uid, gid)) = owner {
            let _ = fchown(&open, Some(uid), Some(gid));
        }
        set_attributes(open.as_fd(), &metadata, self.keep_owner).map_err(failed)?;
        let begun = self.syncing.begins(&open);
        let synced = begun.and_then(|()| self.syncing.note_attributes(&open));
        synced.map_err(|source| ApplyError::Host {
            action: "sync",
            path: self.directory.path_of(path),
            source,
        })
    }

    /// Opens a new file. A process that was killed may have given it permissions that keep its owner out.
    fn open_new(&self, file: &Exchange<'_>, path: &[u8]) -> Result<File, ApplyError> {
        let failed = self.directory.failed("set the attributes of", path);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = || openat(file.from, file.other, flags, Mode::empty());
        let opened = match open() {
            Err(Errno::ACCESS) if self.is_resumed => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let found = openat(file.from, file.other, flags, Mode::empty()).map_err(&failed)?;
                self.check_is_own(file, &fstat(&found).map_err(&failed)?, path)?;
                self.set_mode(&found, OWNERS_MODE, path)?;
                open()
            }
            opened => opened,
        };
        opened.map(File::from).map_err(failed)
    }

    /// Checks that the other name has the file that was made under it: others may be able to write to the directory.
    fn check_is_own(
        &self,
        file: &Exchange<'_>,
        stat: &Stat,
        path: &[u8],
    ) -> Result<(), ApplyError> {
        if FileIdentity::new(stat) == file.identity {
            Ok(())
        } else {
            Err(ApplyError::Changed {
                path: self.directory.path_of(path),
            })
        }
    }

    /// Changes the attributes of a file of the host. The file is opened without reading or writing
    /// it, which may not be permitted.
    pub(super) fn change_attributes(
        &mut self,
        path: &[u8],
        host: Option<&HostState>,
        attributes: &NewAttributes,
    ) -> Result<Ended, ApplyError> {
        let failed = self.directory.failed("set the attributes of", path);
        let Some(parent) = self.parent(path)? else {
            return Ok(Ended::Left(None));
        };
        let Now::Planned(found) = self.now(&parent, path, host)? else {
            return Ok(Ended::Left(None));
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&parent, split(path).1, flags, Mode::empty()).map_err(&failed)?;
        let metadata = attributes.metadata();
        self.set_owner(&file, &metadata, path)?;
        // A symlink has no permissions of its own.
        let file_type = FileType::from_mode(u16::try_from(found.st_mode).unwrap_or(0));
        if file_type != Some(FileType::Symlink) {
            self.set_mode(&file, metadata.mode.into(), path)?;
        }
        Ok(Ended::Done)
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
        mode: u32,
        path: &[u8],
    ) -> Result<(), ApplyError> {
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        fs::set_permissions(&open, Permissions::from_mode(mode)).map_err(|source| {
            ApplyError::Host {
                action: "set the attributes of",
                path: self.directory.path_of(path),
                source,
            }
        })
    }
}
