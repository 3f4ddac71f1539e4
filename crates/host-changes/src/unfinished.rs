use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use durable_files::random;
use fstree::{FileKind, FileType, Inode, Metadata};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, chownat, fchown, fstat, linkat, mknodat,
    openat, renameat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use tree_archive::{EntryRef, set_attributes, set_entry_attributes};

use super::host_directory::HostDirectory;
use super::syncing::Syncing;
use super::unfinished_name::{UNFINISHED_DIGITS, unfinished_name};
use super::{ApplyError, HostSource};

/// Bytes of content that are copied at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// A new file under a name of its own, in a directory near its place. Only its owner, who runs this process, can open
/// it until it has its attributes. It is removed unless it is renamed.
#[derive(Debug)]
pub(super) struct Unfinished<'a> {
    directory: &'a OwnedFd,
    name: Vec<u8>,
    /// The device and the inode of a file that this process made; `None` for another name of one.
    identity: Option<(u64, u64)>,
    is_renamed: bool,
}

/// A file that is to be made: one of the sandbox.
pub(super) struct NewFile<'a, S: HostSource> {
    pub(super) side: &'a S,
    pub(super) inode: &'a Inode<S::Content>,
    /// The content, if it is not that of the sandbox.
    pub(super) text: Option<&'a [u8]>,
}

/// The attributes that a new file gets right before it is renamed to its place.
pub(super) struct FinalAttributes<'a> {
    pub(super) file_type: FileType,
    pub(super) metadata: &'a Metadata,
    /// True if the owner is one of the attributes.
    pub(super) keep_owner: bool,
    /// User and group ID of the file that it replaces, which it gets if the caller is root. Otherwise it belongs to
    /// the caller.
    pub(super) replaced_owner: Option<(u32, u32)>,
}

/// A new file that is not open.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    /// The path of the directory that it is in.
    above: Vec<u8>,
    /// Its name there.
    name: Vec<u8>,
    identity: Option<(u64, u64)>,
}

/// New files under names of their own, by the paths that they are to have. Those that are not taken are removed.
#[derive(Debug)]
pub(super) struct UnfinishedFiles<'a> {
    directory: &'a HostDirectory,
    files: HashMap<Vec<u8>, Waiting>,
}

impl<'a> UnfinishedFiles<'a> {
    pub(super) fn new(directory: &'a HostDirectory) -> Self {
        Self {
            directory,
            files: HashMap::new(),
        }
    }

    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.files.contains_key(path)
    }

    /// Adds a file that was made in the directory `above`.
    pub(super) fn add(&mut self, path: &[u8], above: &[u8], mut made: Unfinished<'_>) {
        made.is_renamed = true;
        let waiting = Waiting {
            above: above.to_vec(),
            name: std::mem::take(&mut made.name),
            identity: made.identity,
        };
        self.files.insert(path.to_vec(), waiting);
    }

    /// Takes a file out: the open directory that it is in, and the file.
    pub(super) fn take(&mut self, path: &[u8]) -> Result<(OwnedFd, Waiting), ApplyError> {
        let waiting = self.files.get(path).cloned().unwrap_or_default();
        let opened = self.directory.open_directory(&waiting.above);
        let opened = opened.map_err(self.directory.failed("open", &waiting.above))?;
        self.files.remove(path);
        Ok((opened, waiting))
    }
}

impl Drop for UnfinishedFiles<'_> {
    fn drop(&mut self) {
        // A file that stays is removed by the next run.
        for waiting in self.files.values() {
            if let Ok(directory) = self.directory.open_directory(&waiting.above) {
                let _ = unlinkat(&directory, &waiting.name[..], AtFlags::empty());
            }
        }
    }
}

/// A reason why a new file was not made.
#[derive(Debug)]
pub(super) enum Failure {
    Host(&'static str, io::Error),
    Sandbox(io::Error),
    /// Another file is under the name of the new one.
    Replaced,
}

impl<'a> Unfinished<'a> {
    fn new(directory: &'a OwnedFd) -> Result<Self, Failure> {
        let bytes = random::<{ UNFINISHED_DIGITS / 2 }>();
        let bytes = bytes.map_err(|error| Failure::Host("name", error))?;
        Ok(Self {
            directory,
            name: unfinished_name(&hex::encode(bytes)),
            identity: None,
            is_renamed: false,
        })
    }

    /// Returns a file that was made in this directory.
    pub(super) fn of_waiting(directory: &'a OwnedFd, waiting: Waiting) -> Self {
        Self {
            directory,
            name: waiting.name,
            identity: waiting.identity,
            is_renamed: false,
        }
    }

    /// Makes a file, whose content is durable once that of `syncing` is. It has no attributes yet.
    pub(super) fn make<S: HostSource>(
        directory: &'a OwnedFd,
        new: &NewFile<'_, S>,
        syncing: &mut Syncing,
    ) -> Result<Self, Failure> {
        let mut made = Self::new(directory)?;
        let failed = |error: Errno| Failure::Host("create", error.into());
        let stat = match &new.inode.kind {
            FileKind::Regular(content) => made.write(new, content, syncing)?,
            FileKind::Symlink(target) => {
                symlinkat(&target[..], directory, &made.name[..]).map_err(failed)?;
                made.stat().map_err(failed)?
            }
            _ => {
                let file_type = rustix::fs::FileType::Fifo;
                let mode = Mode::RUSR | Mode::WUSR;
                mknodat(directory, &made.name[..], file_type, mode, 0).map_err(failed)?;
                made.stat().map_err(failed)?
            }
        };
        made.identity = Some((stat.st_dev, stat.st_ino));
        Ok(made)
    }

    fn stat(&self) -> rustix::io::Result<Stat> {
        statat(self.directory, &self.name[..], AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Gives the file its attributes: first the owner, last the permissions and the time.
    pub(super) fn set_attributes(
        &self,
        attributes: &FinalAttributes<'_>,
        syncing: &Syncing,
    ) -> Result<(), Failure> {
        let failed = |error: Errno| Failure::Host("set the attributes of", error.into());
        let owner = attributes.replaced_owner;
        let owner = owner.map(|(uid, gid)| (Uid::from_raw(uid), Gid::from_raw(gid)));
        let (metadata, keep_owner) = (attributes.metadata, attributes.keep_owner);
        if attributes.file_type != FileType::Regular {
            self.check_is_own(&self.stat().map_err(failed)?)?;
            if let Some((uid, gid)) = owner {
                let itself = AtFlags::SYMLINK_NOFOLLOW;
                let _ = chownat(self.directory, &self.name[..], Some(uid), Some(gid), itself);
            }
            let entry = EntryRef {
                directory: self.directory.as_fd(),
                name: &self.name,
            };
            let file_type = attributes.file_type;
            return set_entry_attributes(entry, file_type, metadata, keep_owner, None)
                .map_err(failed);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(self.directory, &self.name[..], flags, Mode::empty()).map_err(failed)?;
        let file = File::from(file);
        self.check_is_own(&fstat(&file).map_err(failed)?)?;
        if let Some((uid, gid)) = owner {
            let _ = fchown(&file, Some(uid), Some(gid));
        }
        set_attributes(file.as_fd(), metadata, keep_owner).map_err(failed)?;
        let synced = syncing.note_attributes(&file);
        synced.map_err(|error| Failure::Host("sync", error))
    }

    /// Checks that the name has the file that this process made: others may be able to write to the directory.
    fn check_is_own(&self, stat: &Stat) -> Result<(), Failure> {
        if self.identity == Some((stat.st_dev, stat.st_ino)) {
            Ok(())
        } else {
            Err(Failure::Replaced)
        }
    }

    /// Makes another name of a file in an open directory.
    pub(super) fn link(
        directory: &'a OwnedFd,
        (other, name): (&OwnedFd, &[u8]),
    ) -> Result<Self, Failure> {
        let made = Self::new(directory)?;
        linkat(other, name, directory, &made.name[..], AtFlags::empty())
            .map_err(|error| Failure::Host("link", error.into()))?;
        Ok(made)
    }

    fn write<S: HostSource>(
        &self,
        new: &NewFile<'_, S>,
        content: &S::Content,
        syncing: &mut Syncing,
    ) -> Result<Stat, Failure> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(
            self.directory,
            &self.name[..],
            flags,
            Mode::RUSR | Mode::WUSR,
        );
        let file = File::from(file.map_err(|error| Failure::Host("create", error.into()))?);
        let failed = |error| Failure::Host("write", error);
        syncing.begins(&file).map_err(failed)?;
        if let Some(text) = new.text {
            file.write_all_at(text, 0).map_err(failed)?;
        } else {
            copy(new.side, content, &file)?;
            file.set_len(new.side.size_bytes(content)).map_err(failed)?;
        }
        syncing.note_content(&file).map_err(failed)?;
        fstat(&file).map_err(|error| failed(error.into()))
    }

    /// Renames the file to a name in an open directory. With `replace` it takes the place of another one;
    /// otherwise an existing file is an error.
    pub(super) fn rename(
        mut self,
        (directory, name): (&OwnedFd, &[u8]),
        replace: bool,
    ) -> rustix::io::Result<()> {
        let plainly = || renameat(self.directory, &self.name[..], directory, name);
        let renamed = if replace {
            plainly()
        } else {
            let flags = RenameFlags::NOREPLACE;
            match renameat_with(self.directory, &self.name[..], directory, name, flags) {
                // Not every filesystem can.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    missing(directory, name).and_then(|()| plainly())
                }
                renamed => renamed,
            }
        };
        self.is_renamed = renamed.is_ok();
        renamed
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // A file that stays is removed by the next run.
        if !self.is_renamed {
            let _ = unlinkat(self.directory, &self.name[..], AtFlags::empty());
        }
    }
}

/// Checks that a directory has no file of this name.
///
/// # Errors
/// `EXIST` if it has one.
fn missing(directory: &OwnedFd, name: &[u8]) -> rustix::io::Result<()> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

/// Copies the data of a file of the sandbox. Holes stay holes.
fn copy<S: HostSource>(side: &S, content: &S::Content, file: &File) -> Result<(), Failure> {
    let mut buffer = Vec::new();
    for segment in side.segments(content) {
        let mut done_bytes = 0;
        while done_bytes < segment.length_bytes {
            let length_bytes = PIECE_BYTES.min(segment.length_bytes - done_bytes);
            let offset_bytes = segment.offset_bytes + done_bytes;
            buffer.resize(usize::try_from(length_bytes).unwrap_or(0), 0);
            side.read_at(content, offset_bytes, &mut buffer)
                .map_err(|error| Failure::Sandbox(io::Error::other(error)))?;
            file.write_all_at(&buffer, offset_bytes)
                .map_err(|error| Failure::Host("write", error))?;
            done_bytes += length_bytes;
        }
    }
    Ok(())
}
