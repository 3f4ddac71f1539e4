use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::{ConnectFailure, ConnectStart, TcpTarget, connect_start};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::files::{absolute, waiting};

/// The time in which a name is resolved and a connection made.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// The host of a target that has none.
const LOOPBACK: &str = "127.0.0.1";

/// A connected socket of either family.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Connects to the target of a call.
pub(super) async fn dial(start: ConnectStart) -> Result<Socket, ConnectFailure> {
    let (name, dialled) = match start.target {
        Some(connect_start::Target::Tcp(target)) => {
            let host = match target.host.as_str() {
                "" => LOOPBACK,
                host => host,
            };
            let name = format!("{}:{}", host.escape_default(), target.port);
            (name, timeout(DIAL_TIMEOUT, dial_tcp(host, &target)).await)
        }
        Some(connect_start::Target::Path(path)) => {
            let name = format!("'{}'", path.escape_ascii());
            (name, timeout(DIAL_TIMEOUT, dial_path(&path)).await)
        }
        _ => {
            let message = "the target is missing, or not one to connect to".to_owned();
            return Err(ConnectFailure { errno: 0, message });
        }
    };
    let dialled = dialled.unwrap_or_else(|_| Err(Errno::TIMEDOUT.into()));
    dialled.map_err(|error| ConnectFailure {
        errno: error.raw_os_error().unwrap_or_default(),
        message: format!("cannot connect to {name}: {error}"),
    })
}

/// Tries the addresses of a host one after the other.
async fn dial_tcp(host: &str, target: &TcpTarget) -> io::Result<Socket> {
    let port = u16::try_from(target.port).ok().filter(|&port| port > 0);
    let port = port.ok_or(io::ErrorKind::InvalidInput)?;
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in resolve(host.to_owned(), port).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Small writes of terminals are not to wait; without it they are only slower.
                let _ = stream.set_nodelay(true);
                return Ok(Socket::Tcp(stream));
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Resolves a name with the files that commands see.
async fn resolve(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let name = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let resolved = waiting(move || {
        let addresses = (name.as_str(), port).to_socket_addrs();
        Ok(addresses.map(|found| found.collect::<Vec<_>>()))
    });
    resolved.await.map_err(failed)?
}

/// Connects to a Unix socket. A socket whose listener has too many connections to accept refuses.
async fn dial_path(path: &[u8]) -> io::Result<Socket> {
    let path = path.to_vec();
    let connected = waiting(move || Ok(connect_path(&path)));
    let stream = connected.await.map_err(failed)??;
    Ok(Socket::Unix(UnixStream::from_std(stream)?))
}

/// Connects to a path, or to an abstract name after a byte 0. The socket does not block.
pub(super) fn connect_path(path: &[u8]) -> io::Result<StdUnixStream> {
    let address = match path.split_first() {
        Some((0, name)) => SocketAddrUnix::new_abstract_name(name)?,
        _ => SocketAddrUnix::new(absolute(path))?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &address)?;
    Ok(socket.into())
}

fn failed(status: Status) -> io::Error {
    io::Error::other(status.message().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use tokio::net::TcpListener;

    use super::*;

    fn tcp(port: u16) -> ConnectStart {
        let target = TcpTarget {
            host: String::new(),
            port: port.into(),
        };
        let target = Some(connect_start::Target::Tcp(target));
        ConnectStart { target }
    }

    fn path(path: &[u8]) -> ConnectStart {
        let target = Some(connect_start::Target::Path(path.to_vec().into()));
        ConnectStart { target }
    }

    #[tokio::test]
    async fn ports_and_paths_are_dialled() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let port = listener.local_addr().expect("an address").port();
        assert!(matches!(dial(tcp(port)).await, Ok(Socket::Tcp(_))));
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("socket");
        let _listener = UnixListener::bind(&file).expect("bound");
        let start = path(file.as_os_str().as_encoded_bytes());
        assert!(matches!(dial(start).await, Ok(Socket::Unix(_))));
    }

    #[tokio::test]
    async fn what_cannot_be_dialled_has_its_errno() {
        for (start, errno) in [
            (path(b"/nothing/here"), 2),
            (path(b"\0msb-no-such-name"), 111),
            (path(&[b'/'; 200]), 36),
            (tcp(0), 0),
            (ConnectStart { target: None }, 0),
        ] {
            let failure = dial(start).await.err().expect("refused");
            assert_eq!(failure.errno, errno, "{}", failure.message);
        }
    }
}
