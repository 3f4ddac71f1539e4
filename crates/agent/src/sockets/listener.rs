use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener as StdUnixListener;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::AcceptRequest;
use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, listen as begin_listening, socket_with,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_blocking;

use super::entry::{FIRST_MODE, Identity, SocketEntry};
use crate::exec::owner;
use crate::files::{Missing, absolute, failed_io, waiting};

/// The mode of a socket if the request has none.
const SOCKET_MODE: u32 = 0o600;
/// The connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 64;

/// A Unix socket that the host listens on.
pub(super) struct Listener {
    socket: UnixListener,
    entry: SocketEntry,
    identity: Identity,
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
            entry,
            identity,
        } = self;
        drop(socket);
        // The thread cannot fail otherwise.
        let _ = spawn_blocking(move || entry.remove(identity)).await;
    }
}

/// Makes a socket and listens on it.
pub(super) async fn listen(request: AcceptRequest) -> Result<Listener, Status> {
    let path = absolute(&request.path);
    let failed = failed_io("listen on", &path);
    let mode = Mode::from_raw_mode(request.mode.unwrap_or(SOCKET_MODE) & 0o777);
    let opening = waiting(move || find(&request));
    let (entry, owner) = opening.await?;
    // This waits for a disk as well, on a thread that sees this process in `/proc`.
    let making = spawn_blocking(move || {
        let made = make(&entry, owner, mode);
        made.map(|(socket, identity)| (socket, entry, identity))
    });
    let made = making
        .await
        .map_err(|_| Status::internal("the agent failed"))?;
    let (socket, entry, identity) = made.map_err(&failed)?;
    Ok(Listener {
        socket: UnixListener::from_std(socket).map_err(&failed)?,
        entry,
        identity,
    })
}

/// Finds the place of the socket and its owner, on a thread that sees the files as commands do.
fn find(request: &AcceptRequest) -> Result<(SocketEntry, (u32, u32)), Status> {
    let owner = owner(&request.owner);
    let owner = owner.map_err(|failure| Status::invalid_argument(failure.message))?;
    let path = absolute(&request.path);
    // Programs connect by this path.
    let connectable = SocketAddrUnix::new(&path[..]);
    connectable.map_err(|error| failed_io("listen on", &path)(error.into()))?;
    let missing = if request.parents {
        Missing::Made
    } else {
        Missing::Refused
    };
    Ok((SocketEntry::open(&path, missing)?, owner))
}

/// Makes the socket. Returns the identity of its file, too.
fn make(
    entry: &SocketEntry,
    owner: (u32, u32),
    mode: Mode,
) -> io::Result<(StdUnixListener, Identity)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file has this mode from its beginning.
    fchmod(&socket, FIRST_MODE)?;
    entry.bind(&socket)?;
    let identity = entry.give(owner, mode)?;
    begin_listening(&socket, BACKLOG)?;
    Ok((socket.into(), identity))
}

#[cfg(test)]
mod tests;
