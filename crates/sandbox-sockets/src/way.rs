//! The way to a file of the host, on which each directory is opened in the one before it.
//!
//! A path is resolved once. Later uses begin at the directory that is open, so that a symlink or a directory that is put on
//! the way afterwards leads nowhere.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use fs_err as fs;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

/// The symlinks on one way, as many as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const LINKS_MAX: usize = 40;
/// A descriptor that stands for a file, or for a symlink, and gives no access to its content.
const ENTRY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The way to a file.
#[derive(Debug)]
pub(crate) struct Way {
    directory: OwnedFd,
    name: OsString,
    real: PathBuf,
    /// The directories on the way, by their paths without symlinks.
    pub(crate) directories: Vec<PathBuf>,
    /// The directories on the way in which a symlink was followed.
    pub(crate) with_links: Vec<PathBuf>,
}

impl Way {
    /// Follows an absolute path to a file that is neither a directory nor a symlink.
    pub(crate) fn follow(path: &Path) -> io::Result<Self> {
        let mut directory = openat(CWD, "/", ENTRY, Mode::empty())?;
        let mut left: VecDeque<OsString> = names(path.as_os_str()).collect();
        let mut directories = vec![real(&directory)?];
        let mut with_links = Vec::new();
        while let Some(name) = left.pop_front() {
            let file = openat(&directory, &name, ENTRY, Mode::empty())?;
            match FileType::from_raw_mode(fstat(&file)?.st_mode) {
                FileType::Symlink if with_links.len() < LINKS_MAX => {
                    with_links.push(real(&directory)?);
                    let target = readlinkat(&file, "", Vec::new())?;
                    let target = OsString::from_vec(target.into_bytes());
                    if target.as_bytes().starts_with(b"/") {
                        directory = openat(CWD, "/", ENTRY, Mode::empty())?;
                    }
                    names(&target).rev().for_each(|name| left.push_front(name));
                }
                FileType::Symlink => return Err(Errno::LOOP.into()),
                FileType::Directory => {
                    directory = file;
                    directories.push(real(&directory)?);
                }
                _ if left.is_empty() => {
                    let real = real(&directory)?.join(&name);
                    return Ok(Self {
                        real,
                        directory,
                        name,
                        directories,
                        with_links,
                    });
                }
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
        Err(Errno::ISDIR.into())
    }

    /// Returns the path of the directory in `/proc`, which leads to this directory and to no other.
    pub(crate) fn directory(&self) -> PathBuf {
        link(&self.directory)
    }

    /// Returns the path of the file without symlinks, as it was when it was followed.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// Opens the file that is in the directory at present. It may be a symlink, which is not followed.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        Ok(openat(&self.directory, &self.name, ENTRY, Mode::empty())?)
    }
}

/// Returns the path in `/proc` of a file that is open.
pub(crate) fn link(file: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn real(directory: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(link(directory))
}

/// Returns the components of a path. `.` is none.
fn names(path: &OsStr) -> impl DoubleEndedIterator<Item = OsString> {
    let names = path.as_bytes().split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    names.map(|name| OsStr::from_bytes(name).to_owned())
}

#[cfg(test)]
mod tests;
