//! Connections to the control socket.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, AsRawFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;

/// Bytes that fit `sun_path` with the NUL.
const PATH_MAX_BYTES: usize = 107;
/// The time between two attempts while the queue of the listener is full.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Returns true if the other end of a Unix socket belongs to a process of this user.
///
/// The end that was accepted by a listener has the user who made it listen.
///
/// # Errors
/// A descriptor that is not a connected Unix socket.
pub fn is_own_peer(socket: impl AsFd) -> io::Result<bool> {
    Ok(socket_peercred(socket)?.uid == geteuid())
}

/// Connects to the socket at a path of any length. Waits until `deadline` while its queue is full.
pub(super) fn connect_until(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    let (short, _directory) = shorten(path)?;
    let address = SocketAddrUnix::new(&short)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => break,
            // A full queue: a Unix socket that does not block is not told when there is room.
            Err(Errno::AGAIN) if Instant::now() < deadline => thread::sleep(RETRY_INTERVAL),
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Returns a path that fits: the same one, or one through an open descriptor of its directory.
/// The descriptor must stay open while the path is used.
fn shorten(path: &Path) -> io::Result<(PathBuf, Option<OwnedFd>)> {
    if path.as_os_str().len() <= PATH_MAX_BYTES {
        return Ok((path.to_owned(), None));
    }
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(directory, flags, Mode::empty())?;
    let short = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok((Path::new(&short).join(name), Some(directory)))
}
