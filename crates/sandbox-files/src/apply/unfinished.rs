use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use fstree::{FileKind, FileType, Inode, Metadata};
use msb_runtime::random;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, chownat, linkat, mknodat, openat, renameat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use tree_archive::{EntryRef, set_attributes, set_entry_attributes};

use super::host_directory::{HostDirectory, UNFINISHED_DIGITS, unfinished_name};
use super::syncing::Syncing;
use super::{ApplyError, HostSource};

/// Bytes of content that are copied at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// A new file under a name of its own, in the directory where it is to be. It is removed unless it
/// is renamed.
#[derive(Debug)]
pub(super) struct Unfinished<'a> {
    directory: &'a OwnedFd,
    name: Vec<u8>,
    is_renamed: bool,
}

/// A file that is to be made: one of the sandbox, with these attributes.
pub(super) struct NewFile<'a, S: HostSource> {
    pub(super) side: &'a S,
    pub(super) inode: &'a Inode<S::Content>,
    /// The content, if it is not that of the sandbox.
    pub(super) text: Option<&'a [u8]>,
    pub(super) metadata: &'a Metadata,
}

/// New files under names of their own, by the paths that they are to have. Those that are not taken are removed.
#[derive(Debug)]
pub(super) struct UnfinishedFiles<'a> {
    directory: &'a HostDirectory,
    /// The path of the directory that each is in, and its name there.
    files: HashMap<Vec<u8>, (Vec<u8>, Vec<u8>)>,
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
        let name = std::mem::take(&mut made.name);
        self.files.insert(path.to_vec(), (above.to_vec(), name));
    }

    /// Takes a file out: the open directory that it is in, and its name there.
    pub(super) fn take(&mut self, path: &[u8]) -> Result<(OwnedFd, Vec<u8>), ApplyError> {
        let (above, name) = self.files.get(path).cloned().unwrap_or_default();
        let opened = self.directory.open_directory(&above);
        let opened = opened.map_err(self.directory.failed("open", &above))?;
        self.files.remove(path);
        Ok((opened, name))
    }
}

impl Drop for UnfinishedFiles<'_> {
    fn drop(&mut self) {
        // A file that stays is removed by the next run.
        for (above, name) in self.files.values() {
            if let Ok(directory) = self.directory.open_directory(above) {
                let _ = unlinkat(&directory, &name[..], AtFlags::empty());
            }
        }
    }
}

/// A reason why a new file was not made.
#[derive(Debug)]
pub(super) enum Failure {
    Host(&'static str, io::Error),
    Sandbox(io::Error),
}

impl<'a> Unfinished<'a> {
    fn new(directory: &'a OwnedFd) -> Result<Self, Failure> {
        let bytes = random::<{ UNFINISHED_DIGITS / 2 }>();
        let bytes = bytes.map_err(|error| Failure::Host("name", error))?;
        Ok(Self {
            directory,
            name: unfinished_name(&hex::encode(bytes)),
            is_renamed: false,
        })
    }

    /// Returns the file that was made under this name.
    pub(super) const fn of_name(directory: &'a OwnedFd, name: Vec<u8>) -> Self {
        Self {
            directory,
            name,
            is_renamed: false,
        }
    }

    /// Makes a file, which is durable once `syncing` is finished. With `keep_owner` the owner is one of its
    /// attributes.
    pub(super) fn make<S: HostSource>(
        directory: &'a OwnedFd,
        new: &NewFile<'_, S>,
        keep_owner: bool,
        syncing: &mut Syncing,
    ) -> Result<Self, Failure> {
        let metadata = new.metadata;
        let made = Self::new(directory)?;
        let failed = |action| move |error: Errno| Failure::Host(action, error.into());
        let entry = EntryRef {
            directory: directory.as_fd(),
            name: &made.name,
        };
        let file_type = match &new.inode.kind {
            FileKind::Regular(content) => {
                made.write(new, content, keep_owner, syncing)?;
                return Ok(made);
            }
            FileKind::Symlink(target) => {
                symlinkat(&target[..], directory, &made.name[..]).map_err(failed("create"))?;
                FileType::Symlink
            }
            _ => {
                let file_type = rustix::fs::FileType::Fifo;
                let mode = Mode::RUSR | Mode::WUSR;
                mknodat(directory, &made.name[..], file_type, mode, 0).map_err(failed("create"))?;
                FileType::Fifo
            }
        };
        set_entry_attributes(entry, file_type, metadata, keep_owner, None)
            .map_err(failed("set the attributes of"))?;
        Ok(made)
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
        keep_owner: bool,
        syncing: &mut Syncing,
    ) -> Result<(), Failure> {
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
        set_attributes(file.as_fd(), new.metadata, keep_owner)
            .map_err(|error| Failure::Host("set the attributes of", error.into()))?;
        syncing.ends(&file).map_err(failed)
    }

    /// Gives the file the owner of the one that it replaces, if the caller is root. Otherwise it belongs
    /// to the caller.
    pub(super) fn take_owner(&self, (uid, gid): (u32, u32)) {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        let itself = AtFlags::SYMLINK_NOFOLLOW;
        let _ = chownat(self.directory, &self.name[..], Some(uid), Some(gid), itself);
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
