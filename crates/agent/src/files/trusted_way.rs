//! The way to a directory, on which no user but root leads the agent elsewhere.
//!
//! The agent is root. Where it writes below a directory of another user, a symlink of that user's could lead it to `/etc`.
//! Images have symlinks on such ways, too, such as `/home`: those of root, in directories that only root can write, are
//! followed.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use msb_agent_protocol::Status;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;
use tree_archive::EntryRef;

use super::status::failed;

/// The symlinks on one way, as many as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const LINKS_MAX: usize = 40;
/// The mode of a directory that is made on the way.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
/// The permissions to write of others than the owner.
const OF_OTHERS: u32 = 0o022;
const ROOT: u32 = 0;

/// Opens the directory at an absolute path, and makes it and those above it if they are missing.
pub(super) fn open(path: &[u8]) -> Result<OwnedFd, Status> {
    let root = open_root().map_err(failed("open", b"/"))?;
    follow(root.as_fd(), path, ROOT).map_err(|error| match error {
        Errno::LOOP => Status::failed_precondition(format!(
            "a symlink on the way to '{}' is not followed: another user than root can have put it there",
            path.escape_ascii()
        )),
        error => failed("open", path)(error),
    })
}

fn open_root() -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, "/", flags, Mode::empty())
}

/// Goes along a path from the root. Symlinks of others than `owner` are an error, `ELOOP`.
fn follow(root: BorrowedFd<'_>, path: &[u8], owner: u32) -> rustix::io::Result<OwnedFd> {
    let mut directory = root.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    let mut left: VecDeque<Vec<u8>> = names(path).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        let entry = EntryRef {
            directory: directory.as_fd(),
            name: &name,
        };
        let inner = match tree_archive::enter(entry, false) {
            Err(Errno::NOENT) => {
                mkdirat(&directory, &name[..], DIRECTORY_MODE)?;
                tree_archive::enter(entry, false)?
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {
                links += 1;
                let target = target(entry, owner).and_then(|target| {
                    let is_bounded = links <= LINKS_MAX;
                    is_bounded.then_some(target).ok_or(Errno::LOOP)
                })?;
                for name in names(&target).rev() {
                    left.push_front(name);
                }
                let from = if target.starts_with(b"/") {
                    root
                } else {
                    directory.as_fd()
                };
                from.try_clone_to_owned().map_err(|_| Errno::MFILE)?
            }
            other => other?,
        };
        directory = inner;
    }
    Ok(directory)
}

/// Returns the target of a symlink that only `owner` can have put there.
fn target(entry: EntryRef<'_>, owner: u32) -> rustix::io::Result<Vec<u8>> {
    let link = statat(entry.directory, entry.name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(link.st_mode) != FileType::Symlink {
        return Err(Errno::NOTDIR);
    }
    // A link can be moved within a directory by whoever can write that.
    let around: Stat = fstat(entry.directory)?;
    let is_closed = around.st_uid == owner && around.st_mode & OF_OTHERS == 0;
    if !is_closed || link.st_uid != owner {
        return Err(Errno::LOOP);
    }
    let target = readlinkat(entry.directory, entry.name, Vec::new())?;
    Ok(target.into_bytes())
}

/// Returns the components of a path. `.` is none.
fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> {
    let names = path.split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    names.map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests;
