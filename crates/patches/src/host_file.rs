use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ext4_writer::{FileContent, OpenedContent};
use fstree::{Metadata, Timestamp, Xattrs};
use rustix::fs::{Dir, Mode, OFlags, openat};

/// The content of a file on a new upper disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewFile {
    /// The content itself, in memory.
    Bytes(Vec<u8>),
    /// A file of the host, with its size and identity when it was found.
    Host {
        /// The path of the file.
        path: PathBuf,
        /// Its length, in bytes.
        size_bytes: u64,
        /// Its identity.
        identity: Identity,
    },
}

/// The identity of a file of the host, which stays the same if the file is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(super) fn from_metadata(here: &std::fs::Metadata) -> Self {
        Self {
            device: here.dev(),
            inode: here.ino(),
        }
    }
}

impl FileContent for NewFile {
    fn size_bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.size_bytes(),
            Self::Host { size_bytes, .. } => *size_bytes,
        }
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        let (path, size_bytes, identity) = match self {
            Self::Bytes(bytes) => return bytes.open(),
            Self::Host {
                path,
                size_bytes,
                identity,
            } => (path, *size_bytes, *identity),
        };
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path);
        let file = file.map_err(|error| refused(path, &error.to_string()))?;
        let metadata = file.metadata()?;
        let is_same = Identity::from_metadata(&metadata) == identity;
        if !metadata.is_file() || !is_same || metadata.len() != size_bytes {
            return Err(refused(path, "it changed meanwhile"));
        }
        let segments = tree_archive::segments(&file, size_bytes)?;
        let range = |one: tree_archive::Segment| {
            one.offset_bytes..one.offset_bytes.saturating_add(one.length_bytes)
        };
        Ok(OpenedContent {
            bytes: Box::new(file),
            data: segments.into_iter().map(range).collect(),
        })
    }
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

/// Returns the metadata that a file of the host has in a sandbox, with this owner.
/// It keeps the same attributes as `msb cp`.
pub(super) fn metadata(
    file: &File,
    here: &std::fs::Metadata,
    owner: (u32, u32),
) -> io::Result<Metadata> {
    let has_xattrs = here.is_file() || here.is_dir();
    Ok(Metadata {
        mode: u16::try_from(here.mode() & 0o7777).unwrap_or(0),
        uid: owner.0,
        gid: owner.1,
        mtime: Timestamp {
            seconds: here.mtime(),
            nanoseconds: u32::try_from(here.mtime_nsec()).unwrap_or(0),
        },
        xattrs: if has_xattrs {
            tree_archive::user_xattrs(file)?
        } else {
            Xattrs::new()
        },
    })
}

/// Returns the names in a directory of the host, in descending order.
pub(super) fn names(directory: &File) -> io::Result<Vec<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(directory, ".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(readable)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(&name[..], b"." | b"..") {
            names.push(name);
        }
    }
    names.sort_by(|one, other| other.cmp(one));
    Ok(names)
}
