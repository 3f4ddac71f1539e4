use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::AcceptRequest;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, chmodat, chownat, fchmod, fstat, open,
};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen as begin_listening,
    socket_with,
};
use tokio::net::{UnixListener, UnixStream};

use super::dial::connect_path;
use crate::exec::owner;
use crate::files::{absolute, failed_io, make_directories, waiting};

/// The mode of a socket if the request has none.
const SOCKET_MODE: u32 = 0o600;
/// The connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 64;

/// A Unix socket that the host listens on.
pub(super) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// The device and the inode of the socket's file.
    identity: (u64, u64),
}

impl Listener {
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.socket.accept().await?;
        Ok(stream)
    }

    /// Removes the socket's file, unless another one is in its place.
    pub(super) async fn remove(self) {
        let Self {
            socket,
            path,
            identity,
        } = self;
        drop(socket);
        let removing = waiting(move || {
            if identity_of(&path).is_ok_and(|found| found == identity) {
                // A file that stays is replaced by the next listener.
                let _ = fs::remove_file(&path);
            }
            Ok(())
        });
        // The thread cannot fail otherwise.
        let _ = removing.await;
    }
}

/// Makes a socket and listens on it.
pub(super) async fn listen(request: AcceptRequest) -> Result<Listener, Status> {
    // The thread that makes the socket has another `/proc`, without this process.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let descriptors = open("/proc/self/fd", flags, Mode::empty());
    let descriptors = descriptors.map_err(|error| Status::internal(error.to_string()))?;
    let (socket, path, identity) = waiting(move || {
        let path = absolute(&request.path);
        let made = make(&request, &path, &descriptors)?;
        Ok((made.0, PathBuf::from(OsStr::from_bytes(&path)), made.1))
    })
    .await?;
    let socket = UnixListener::from_std(socket);
    Ok(Listener {
        socket: socket.map_err(|error| Status::internal(error.to_string()))?,
        path,
        identity,
    })
}

/// Makes the socket, on a thread that sees the files as commands do. Returns the identity of its file, too.
fn make(
    request: &AcceptRequest,
    bytes: &[u8],
    descriptors: &OwnedFd,
) -> Result<(StdUnixListener, (u64, u64)), Status> {
    let owner = owner(&request.owner);
    let owner = owner.map_err(|failure| Status::invalid_argument(failure.message))?;
    let path = Path::new(OsStr::from_bytes(bytes));
    let failed = failed_io("listen on", bytes);
    if let Some(parent) = path.parent().filter(|_| request.parents) {
        make_directories(parent).map_err(&failed)?;
    }
    let socket = bound(bytes, path).map_err(&failed)?;
    let mode = Mode::from_raw_mode(request.mode.unwrap_or(SOCKET_MODE) & 0o777);
    give(path, owner, mode, descriptors).map_err(&failed)?;
    begin_listening(&socket, BACKLOG).map_err(|error| failed(error.into()))?;
    Ok((socket.into(), identity_of(path).map_err(&failed)?))
}

/// Returns a socket at this path, which replaces one that nothing listens on.
fn bound(bytes: &[u8], path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(bytes)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file has this mode from its beginning.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    match bind(&socket, &address) {
        Err(Errno::ADDRINUSE) if is_left(bytes, path) => {
            fs::remove_file(path)?;
            bind(&socket, &address)?;
        }
        // The calls on files have one word for a path that is taken.
        Err(Errno::ADDRINUSE) => return Err(Errno::EXIST.into()),
        bound => bound?,
    }
    Ok(socket)
}

/// Returns true if the file is a socket that nothing listens on.
fn is_left(bytes: &[u8], path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    let is_socket = found.is_ok_and(|found| found.file_type().is_socket());
    let refuses = |error: io::Error| Errno::from_io_error(&error) == Some(Errno::CONNREFUSED);
    is_socket && connect_path(bytes).err().is_some_and(refuses)
}

/// Sets the owner and the mode of the socket's file. A symlink that took its place is not followed.
fn give(path: &Path, owner: (u32, u32), mode: Mode, descriptors: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::Socket {
        return Err(Errno::EXIST.into());
    }
    let (uid, gid) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
    chownat(&file, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
    // There is no fchmod(2) of such a descriptor.
    let name = file.as_raw_fd().to_string();
    Ok(chmodat(descriptors, name, mode, AtFlags::empty())?)
}

fn identity_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests;
