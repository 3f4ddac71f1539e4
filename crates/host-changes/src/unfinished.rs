use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use durable_files::random;
use fstree::{FileKind, Inode};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, Mode, OFlags, Stat, fstat, mknodat, openat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::HostSource;
use super::hex_bytes;
use super::host_directory::HostDirectory;
use super::syncing::Syncing;
use super::unfinished_name::{UNFINISHED_DIGITS, unfinished_name};

/// Bytes of content that are copied at a time.
pub(super) const PIECE_BYTES: u64 = 64 << 10;

/// A new file under a name of its own, in a directory near its place. Only its owner, who runs this process, can open
/// it until it has its attributes. It is removed unless it waits for its place.
#[derive(Debug)]
pub(super) struct Unfinished<'a> {
    directory: &'a OwnedFd,
    name: Vec<u8>,
    /// `None` until the file is complete.
    identity: Option<FileIdentity>,
    is_waiting: bool,
}

/// The number of a file, under any name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub(super) const fn new(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }

    pub(super) const fn inode(self) -> u64 {
        self.inode
    }
}

/// A file that is to be made: one of the sandbox.
pub(super) struct NewFile<'a, S: HostSource> {
    pub(super) side: &'a S,
    pub(super) inode: &'a Inode<S::Content>,
    /// The content, if it is not that of the sandbox.
    pub(super) text: Option<&'a [u8]>,
}

/// A new file that is not open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// The path of the directory that it is in.
    #[serde(with = "hex_bytes")]
    pub(super) above: Vec<u8>,
    /// Its name there.
    #[serde(with = "hex_bytes")]
    pub(super) name: Vec<u8>,
    pub(super) identity: FileIdentity,
}

/// New files under names of their own, by the paths that they are to have. Those that are left are removed, unless a
/// record has them.
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

    pub(super) fn get(&self, path: &[u8]) -> Option<&Waiting> {
        self.files.get(path)
    }

    /// Returns the paths of the directories that the files are in.
    pub(super) fn directories(&self) -> impl Iterator<Item = &[u8]> {
        self.files.values().map(|waiting| &waiting.above[..])
    }

    /// Adds a file that was made in the directory `above`.
    pub(super) fn add(&mut self, path: &[u8], above: &[u8], mut made: Unfinished<'_>) {
        if let Some(identity) = made.identity {
            made.is_waiting = true;
            let waiting = Waiting {
                above: above.to_vec(),
                name: std::mem::take(&mut made.name),
                identity,
            };
            self.files.insert(path.to_vec(), waiting);
        }
    }

    /// Forgets a file, which has its place, or was removed.
    pub(super) fn forget(&mut self, path: &[u8]) {
        self.files.remove(path);
    }

    /// Forgets all files. They stay under their other names.
    pub(super) fn forget_all(&mut self) {
        self.files.clear();
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
}

/// Returns a name that no other file has.
pub(super) fn new_name() -> io::Result<Vec<u8>> {
    let bytes = random::<{ UNFINISHED_DIGITS / 2 }>()?;
    Ok(unfinished_name(&hex::encode(bytes)))
}

impl<'a> Unfinished<'a> {
    /// Makes a file, whose content is durable once that of `syncing` is. It has no attributes yet.
    pub(super) fn make<S: HostSource>(
        directory: &'a OwnedFd,
        new: &NewFile<'_, S>,
        syncing: &mut Syncing,
    ) -> Result<Self, Failure> {
        let mut made = Self {
            directory,
            name: new_name().map_err(|error| Failure::Host("name", error))?,
            identity: None,
            is_waiting: false,
        };
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
        made.identity = Some(FileIdentity::new(&stat));
        Ok(made)
    }

    fn stat(&self) -> rustix::io::Result<Stat> {
        statat(self.directory, &self.name[..], AtFlags::SYMLINK_NOFOLLOW)
    }

    fn write<S: HostSource>(
        &self,
        new: &NewFile<'_, S>,
        content: &S::Content,
        syncing: &mut Syncing,
    ) -> Result<Stat, Failure> {
        let file = create(self.directory, &self.name);
        let file = file.map_err(|error| Failure::Host("create", error.into()))?;
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
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // A file that stays is removed by the next run.
        if !self.is_waiting {
            let _ = unlinkat(self.directory, &self.name[..], AtFlags::empty());
        }
    }
}

/// Makes a file that only its owner can open, and opens it for writing.
pub(super) fn create(directory: &OwnedFd, name: &[u8]) -> rustix::io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
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
