use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ext4_writer::{FileContent, OpenedContent};
use fs_err as fs;
use fstree::{Metadata, Timestamp, Xattrs};
use rustix::fs::{OFlags, lgetxattr, llistxattr};
use rustix::io::Errno;

/// The longest list of xattr names, and the longest value (`XATTR_LIST_MAX`, linux/limits.h).
const XATTR_MAX_BYTES: usize = 65_536;

/// The content of a file that an upper disk begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NewFile {
    /// It is here.
    Bytes(Vec<u8>),
    /// It is in a file of this host, which had this length.
    Host { path: PathBuf, size_bytes: u64 },
}

impl FileContent for NewFile {
    fn size_bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.size_bytes(),
            Self::Host { size_bytes, .. } => *size_bytes,
        }
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        let (path, size_bytes) = match self {
            Self::Bytes(bytes) => return bytes.open(),
            Self::Host { path, size_bytes } => (path, *size_bytes),
        };
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path);
        let file = file.map_err(|error| told(path, &error.to_string()))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() != size_bytes {
            return Err(told(path, "it changed meanwhile"));
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

fn told(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

/// What a file of this host is in a sandbox, with this owner: what `msb cp` keeps.
pub(super) fn metadata(
    path: &Path,
    here: &std::fs::Metadata,
    owner: (u32, u32),
) -> io::Result<Metadata> {
    use std::os::unix::fs::MetadataExt as _;
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
            user_xattrs(path)?
        } else {
            Xattrs::new()
        },
    })
}

fn user_xattrs(path: &Path) -> io::Result<Xattrs> {
    let mut buffer = vec![0; XATTR_MAX_BYTES];
    let names = match llistxattr(path, &mut buffer[..]) {
        Ok(length) => buffer[..length].to_vec(),
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS) => return Ok(Xattrs::new()),
        Err(error) => return Err(error.into()),
    };
    let mut xattrs = Xattrs::new();
    for name in names.split(|&byte| byte == 0) {
        if !name.starts_with(b"user.") {
            continue;
        }
        match lgetxattr(path, name, &mut buffer[..]) {
            Ok(length) => {
                xattrs.insert(name, &buffer[..length]);
            }
            // It has gone, or is not for everybody.
            Err(Errno::NODATA | Errno::PERM | Errno::ACCESS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(xattrs)
}

/// The names in a directory of this host, in bytewise order.
pub(super) fn names(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
