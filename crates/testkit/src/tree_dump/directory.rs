use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use fstree::{Device, FileType, Timestamp, Xattrs};
use rustix::fs::{Stat, lgetxattr, llistxattr, lstat, major, minor};
use rustix::io::Errno;

use super::line::Line;
use super::{Content, DumpError, TreeDump};

/// Longest list of xattr names and longest value, in bytes (`XATTR_LIST_MAX`, linux/limits.h).
const XATTR_MAX_BYTES: usize = 65_536;

impl TreeDump {
    /// Dumps a directory and its contents on one filesystem. A mount point below it has a line, its
    /// contents have none. The dump omits ext4's `lost+found` in the root, and names that are
    /// listed but cannot be found.
    ///
    /// # Errors
    /// The first error while an entry is read.
    pub fn from_directory(root: &Path) -> Result<Self, DumpError> {
        let device = lstat(root).map_err(|error| failed(root, error))?.st_dev;
        let mut lines = Vec::new();
        let mut open = vec![Vec::new()];
        while let Some(path) = open.pop() {
            let place = join(root, &path);
            let stat = match lstat(&place) {
                Ok(stat) => stat,
                // Overlayfs lists a device 0:0 of a directory that only one layer has, but does not
                // find it.
                Err(Errno::NOENT) if !path.is_empty() => continue,
                Err(error) => return Err(failed(&place, error)),
            };
            let line = line(&path, &place, &stat).map_err(|error| failed(&place, error))?;
            if line.file_type == FileType::Directory && stat.st_dev == device {
                let names = names(&place).map_err(|error| failed(&place, error))?;
                let names = names.into_iter().map(OsString::into_vec);
                let is_shown = |name: &Vec<u8>| !(path.is_empty() && name == b"lost+found");
                let children = names.filter(is_shown);
                open.extend(children.map(|name| [&path[..], b"/", &name].concat()));
            }
            lines.push(line);
        }
        Ok(Self::new(lines))
    }
}

fn failed(path: &Path, source: impl Into<io::Error>) -> DumpError {
    DumpError {
        path: path.to_owned(),
        source: source.into(),
    }
}

/// Returns `path` below `root`. `path` begins with a `/`, or is empty for the root.
fn join(root: &Path, path: &[u8]) -> PathBuf {
    let mut place = root.as_os_str().to_owned();
    place.push(OsStr::from_bytes(path));
    place.into()
}

fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect()
}

fn line(path: &[u8], place: &Path, stat: &Stat) -> io::Result<Line> {
    let st_mode = u16::try_from(stat.st_mode).map_err(io::Error::other)?;
    let file_type = FileType::from_mode(st_mode).ok_or(io::ErrorKind::InvalidData)?;
    let is_device = matches!(file_type, FileType::CharDevice | FileType::BlockDevice);
    let target = match file_type {
        FileType::Symlink => Some(fs::read_link(place)?.into_os_string().into_vec()),
        _ => None,
    };
    let content = match file_type {
        FileType::Regular => Some(Content::read_file(File::open(place)?)?),
        _ => None,
    };
    Ok(Line {
        path: if path.is_empty() {
            b"/".to_vec()
        } else {
            path.to_vec()
        },
        file_type,
        mode: st_mode & !FileType::MASK,
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: Timestamp {
            seconds: stat.st_mtime,
            nanoseconds: u32::try_from(stat.st_mtime_nsec).map_err(io::Error::other)?,
        },
        device: is_device.then(|| Device {
            major: major(stat.st_rdev),
            minor: minor(stat.st_rdev),
        }),
        target,
        xattrs: xattrs(place)?,
        content,
        identity: Some(stat.st_ino),
        links: None,
    })
}

fn xattrs(place: &Path) -> io::Result<Xattrs> {
    let mut names = vec![0; XATTR_MAX_BYTES];
    let length = match llistxattr(place, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => 0,
        Err(error) => return Err(error.into()),
    };
    let names = names[..length].split(|&byte| byte == 0);
    let names = names.filter(|name| !name.is_empty());
    names
        .map(|name| {
            let mut value = vec![0; XATTR_MAX_BYTES];
            let length = lgetxattr(place, name, &mut value[..])?;
            value.truncate(length);
            Ok((name, value))
        })
        .collect()
}
