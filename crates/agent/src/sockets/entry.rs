use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use msb_agent_protocol::Status;
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Uid, chmodat, chownat, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, bind};

use super::dial::connect_path;
use crate::files::{Missing, open_trusted};

/// The mode of a socket's file from its beginning until it has its own.
pub(super) const FIRST_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The device and the inode of a socket's file.
pub(super) type Identity = (u64, u64);

/// The name of a socket in a directory that is open. A user who owns the directory cannot put another one in its place, so
/// that root makes no socket, and changes no owner and no mode, anywhere else.
#[derive(Debug)]
pub(super) struct SocketEntry {
    directory: OwnedFd,
    name: Vec<u8>,
}

impl SocketEntry {
    /// Opens the directory of an absolute path, on a thread that sees the files as commands do. A symlink that another
    /// user than root can have put on the way is refused.
    pub(super) fn open(path: &[u8], missing: Missing) -> Result<Self, Status> {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if matches!(name, b"" | b"." | b"..") {
            return Err(Status::invalid_argument("the path has no name of a socket"));
        }
        let parent = path.strip_suffix(name).unwrap_or_default();
        Ok(Self {
            directory: open_trusted(parent, missing)?,
            name: name.to_vec(),
        })
    }

    /// Binds a socket to the name, and replaces one that nothing listens on. The thread sees this process in `/proc`.
    pub(super) fn bind(&self, socket: &OwnedFd) -> io::Result<()> {
        let directory = link(&self.directory);
        let path = [directory.as_bytes(), &b"/"[..], &self.name[..]].concat();
        let address = SocketAddrUnix::new(path)?;
        match bind(socket, &address) {
            Err(Errno::ADDRINUSE) if self.is_left() => {
                self.unlink()?;
                bind(socket, &address)?;
            }
            // The calls on files have one word for a path that is taken.
            Err(Errno::ADDRINUSE) => return Err(Errno::EXIST.into()),
            bound => bound?,
        }
        Ok(())
    }

    /// Sets the owner and the mode of the file that was bound. Another file that took its place is an error.
    pub(super) fn give(&self, (uid, gid): (u32, u32), mode: Mode) -> io::Result<Identity> {
        let file = self.file()?;
        let found = fstat(&file)?;
        let is_new = Mode::from_raw_mode(found.st_mode) == FIRST_MODE;
        if !is_new || FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return Err(Errno::EXIST.into());
        }
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        chownat(&file, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
        // There is no fchmod(2) of such a descriptor.
        chmodat(CWD, link(&file), mode, AtFlags::empty())?;
        Ok((found.st_dev, found.st_ino))
    }

    /// Removes the file, unless another one is in its place.
    pub(super) fn remove(&self, identity: Identity) {
        let found = self.file().and_then(|file| Ok(fstat(&file)?));
        if found.is_ok_and(|found| (found.st_dev, found.st_ino) == identity) {
            // A file that stays is replaced by the next listener.
            let _ = self.unlink();
        }
    }

    /// Returns true if the file is a socket that nothing listens on.
    fn is_left(&self) -> bool {
        let Ok(file) = self.file() else {
            return false;
        };
        let is_socket = fstat(&file)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Socket);
        let refuses = |error: io::Error| Errno::from_io_error(&error) == Some(Errno::CONNREFUSED);
        let connected = || connect_path(link(&file).as_bytes());
        is_socket && connected().err().is_some_and(refuses)
    }

    /// Opens the file at the name, which may be a symlink, without using it.
    fn file(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(
            &self.directory,
            &self.name[..],
            flags,
            Mode::empty(),
        )?)
    }

    fn unlink(&self) -> io::Result<()> {
        Ok(unlinkat(&self.directory, &self.name[..], AtFlags::empty())?)
    }
}

/// Returns the path by which this process reaches an open file.
fn link(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests;
