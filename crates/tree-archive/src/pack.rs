use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;

use fstree::{Device, FileType, Metadata, Timestamp, Xattrs};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, Stat, fgetxattr, flistxattr, fstat, fstatfs, major, minor, openat,
    readlinkat, statat,
};
use rustix::io::Errno;
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind};

use crate::error::PackError;
use crate::path::check_path;
use crate::{EntryRef, extents, kept};

/// Longest list of xattr names in bytes (`XATTR_LIST_MAX`, linux/limits.h), and longest value.
const XATTR_MAX_BYTES: usize = 65_536;

/// Filesystems that show the state of the kernel instead of files (linux/magic.h). They are proc,
/// sysfs, cgroup and its second version, devpts, debugfs, tracefs, securityfs, bpf and pstore.
const KERNEL_FILESYSTEMS: [u64; 10] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
    0x6165_676c,
];

/// Options for packing files.
#[derive(Debug, Clone, Copy)]
pub struct PackOptions<'a> {
    /// Name of the packed file in the archive. `.` makes names such as `./a`.
    pub name: &'a [u8],
    /// Directories that are packed without content, by device and inode.
    pub empty: &'a [(u64, u64)],
    /// True if directories on another filesystem than the packed one are packed without content.
    pub one_file_system: bool,
}

impl<'a> PackOptions<'a> {
    /// Returns the options that pack everything under this name.
    pub const fn named(name: &'a [u8]) -> Self {
        Self {
            name,
            empty: &[],
            one_file_system: false,
        }
    }
}

/// Adds a file, or a directory and everything in it, to an archive.
///
/// Parents come before children, and names are in bytewise order. Symlinks are not followed.
/// Sockets and files that vanish meanwhile are left out. The content of `/proc` and similar
/// filesystems is not read.
///
/// # Errors
/// A file cannot be read, a path is too long, or the archive cannot be written. A file that is
/// removed meanwhile is not an error, unless it is the one to be packed.
pub fn pack<W: Write>(
    entry: EntryRef<'_>,
    options: &PackOptions<'_>,
    archive: &mut ArchiveWriter<W>,
) -> Result<(), PackError> {
    let mut packer = Packer {
        archive,
        options,
        device: None,
        names: HashMap::new(),
    };
    let mut path = options.name.to_vec();
    let mut open = Vec::new();
    let root = packer.add(entry, &path)?;
    if let Some(directory) = root.map_err(|error| failed("find", options.name, error))? {
        open.push(directory);
    }
    while let Some(directory) = open.last_mut() {
        let Some(name) = directory.names.pop() else {
            open.pop();
            continue;
        };
        path.truncate(directory.path_bytes);
        path.push(b'/');
        path.extend_from_slice(&name);
        let entry = EntryRef {
            directory: directory.file.as_fd(),
            name: &name,
        };
        if let Ok(Some(inner)) = packer.add(entry, &path)? {
            open.push(inner);
        }
    }
    Ok(())
}

/// A directory whose entries are being packed.
struct OpenDirectory {
    file: OwnedFd,
    /// Length of the directory's own path, in bytes.
    path_bytes: usize,
    /// The names that are still to be packed, in descending order.
    names: Vec<Vec<u8>>,
}

struct Packer<'a, W> {
    archive: &'a mut ArchiveWriter<W>,
    options: &'a PackOptions<'a>,
    /// The filesystem of the first directory.
    device: Option<u64>,
    /// The first names of files that have several, by device and inode.
    names: HashMap<(u64, u64), Vec<u8>>,
}

/// The error for a file that has been removed or replaced meanwhile.
type Vanished = Errno;

impl<W: Write> Packer<'_, W> {
    /// Adds one file. Returns the directory that was opened, so that its entries can follow.
    fn add(
        &mut self,
        entry: EntryRef<'_>,
        path: &[u8],
    ) -> Result<Result<Option<OpenDirectory>, Vanished>, PackError> {
        let stat = match statat(entry.directory, entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Err(Errno::NOENT)),
            Err(error) => return Err(failed("inspect", path, error)),
        };
        let file_type = u16::try_from(stat.st_mode & 0o170_000).unwrap_or(0);
        let device = Device {
            major: major(stat.st_rdev),
            minor: minor(stat.st_rdev),
        };
        check_path(path)?;
        let kind = match FileType::from_mode(file_type) {
            Some(FileType::Directory) => return self.directory(entry, path),
            Some(FileType::Regular) => {
                return self.regular(entry, path).map(|done| done.map(|()| None));
            }
            Some(FileType::Symlink) => EntryKind::Symlink,
            Some(FileType::CharDevice) => EntryKind::CharDevice(device),
            Some(FileType::BlockDevice) => EntryKind::BlockDevice(device),
            Some(FileType::Fifo) => EntryKind::Fifo,
            Some(FileType::Socket) | None => return Ok(Ok(None)),
        };
        let link = match kind {
            EntryKind::Symlink => match readlinkat(entry.directory, entry.name, Vec::new()) {
                Ok(target) => target.into_bytes(),
                Err(Errno::NOENT | Errno::INVAL) => return Ok(Err(Errno::NOENT)),
                Err(error) => return Err(failed("read the link", path, error)),
            },
            _ => Vec::new(),
        };
        if self.add_hard_link(&stat, path)? {
            return Ok(Ok(None));
        }
        let header = EntryHeader {
            path,
            kind,
            link: &link,
            metadata: &metadata(&stat, Xattrs::new()),
        };
        self.archive.entry(&header)?;
        Ok(Ok(None))
    }

    /// Adds a hard link if the file has been packed under another name. Returns true if it did so.
    fn add_hard_link(&mut self, stat: &Stat, path: &[u8]) -> Result<bool, PackError> {
        if stat.st_nlink < 2 {
            return Ok(false);
        }
        let identity = (stat.st_dev, stat.st_ino);
        let Some(first) = self.names.get(&identity) else {
            self.names.insert(identity, path.to_vec());
            return Ok(false);
        };
        let header = EntryHeader {
            path,
            kind: EntryKind::Hardlink,
            link: first,
            metadata: &metadata(stat, Xattrs::new()),
        };
        self.archive.entry(&header)?;
        Ok(true)
    }

    fn directory(
        &mut self,
        entry: EntryRef<'_>,
        path: &[u8],
    ) -> Result<Result<Option<OpenDirectory>, Vanished>, PackError> {
        let Some((file, stat)) = open(entry, path, OFlags::DIRECTORY)? else {
            return Ok(Err(Errno::NOENT));
        };
        let xattrs = xattrs(&file).map_err(|error| failed("read the xattrs of", path, error))?;
        let header = EntryHeader {
            path,
            kind: EntryKind::Directory,
            link: b"",
            metadata: &metadata(&stat, xattrs),
        };
        self.archive.entry(&header)?;
        let device = *self.device.get_or_insert(stat.st_dev);
        let is_empty = self.options.empty.contains(&(stat.st_dev, stat.st_ino))
            || (self.options.one_file_system && stat.st_dev != device)
            || shows_the_kernel(&file).map_err(|error| failed("inspect", path, error))?;
        let names = if is_empty {
            Vec::new()
        } else {
            names(&file).map_err(|error| failed("list", path, error))?
        };
        Ok(Ok(Some(OpenDirectory {
            file,
            path_bytes: path.len(),
            names,
        })))
    }

    fn regular(
        &mut self,
        entry: EntryRef<'_>,
        path: &[u8],
    ) -> Result<Result<(), Vanished>, PackError> {
        let Some((file, stat)) = open(entry, path, OFlags::NONBLOCK | OFlags::NOCTTY)? else {
            return Ok(Err(Errno::NOENT));
        };
        if FileType::from_mode(u16::try_from(stat.st_mode & 0o170_000).unwrap_or(0))
            != Some(FileType::Regular)
        {
            return Ok(Err(Errno::NOENT));
        }
        if self.add_hard_link(&stat, path)? {
            return Ok(Ok(()));
        }
        let xattrs = xattrs(&file).map_err(|error| failed("read the xattrs of", path, error))?;
        let size_bytes = u64::try_from(stat.st_size).unwrap_or(0);
        let file = File::from(file);
        let segments = extents::segments(&file, size_bytes)
            .map_err(|error| failed("find the holes of", path, error))?;
        let header = EntryHeader {
            path,
            kind: EntryKind::Regular,
            link: b"",
            metadata: &metadata(&stat, xattrs),
        };
        let mut read = |offset_bytes, buffer: &mut [u8]| read_padded(&file, offset_bytes, buffer);
        self.archive
            .file(&header, size_bytes, segments, &mut read)?;
        Ok(Ok(()))
    }
}

fn failed(action: &'static str, path: &[u8], source: impl Into<io::Error>) -> PackError {
    PackError::File {
        action,
        path: path.into(),
        source: source.into(),
    }
}

/// Opens a file without following a symlink. `None` if it has been removed or is now a symlink.
fn open(
    entry: EntryRef<'_>,
    path: &[u8],
    flags: OFlags,
) -> Result<Option<(OwnedFd, Stat)>, PackError> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(entry.directory, entry.name, flags, Mode::empty()) {
        Ok(file) => {
            let stat = fstat(&file).map_err(|error| failed("inspect", path, error))?;
            Ok(Some((file, stat)))
        }
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => Ok(None),
        Err(error) => Err(failed("open", path, error)),
    }
}

fn shows_the_kernel(directory: &OwnedFd) -> io::Result<bool> {
    let magic = fstatfs(directory)?.f_type;
    Ok(u64::try_from(magic).is_ok_and(|magic| KERNEL_FILESYSTEMS.contains(&magic)))
}

/// Returns the names in a directory, in descending order.
fn names(directory: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(&name[..], b"." | b"..") {
            names.push(name);
        }
    }
    names.sort_by(|one, other| other.cmp(one));
    Ok(names)
}

/// Fills a buffer from an offset of a file. If the file has become shorter, the rest is zeros.
fn read_padded(file: &File, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset_bytes + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer[done..].fill(0);
    Ok(())
}

fn metadata(stat: &Stat, xattrs: Xattrs) -> Metadata {
    Metadata {
        mode: u16::try_from(stat.st_mode & 0o7777).unwrap_or(0),
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: Timestamp {
            seconds: stat.st_mtime,
            nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        },
        xattrs,
    }
}

/// Returns the xattrs of a file that an archive carries.
fn xattrs(file: &OwnedFd) -> io::Result<Xattrs> {
    let mut buffer = vec![0; XATTR_MAX_BYTES];
    let names = match flistxattr(file, &mut buffer[..]) {
        Ok(length) => buffer[..length].to_vec(),
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS) => return Ok(Xattrs::new()),
        Err(error) => return Err(error.into()),
    };
    let mut xattrs = Vec::new();
    for name in names
        .split(|&byte| byte == 0)
        .filter(|name| kept::is_packed(name))
    {
        match fgetxattr(file, name, &mut buffer[..]) {
            Ok(length) => xattrs.push((name, buffer[..length].to_vec())),
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(xattrs.into_iter().collect())
}
