//! The host's side of the attacks: servers on the loopback interface.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::thread;

use anyhow::{Result, bail};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};

use super::guest::GATEWAY;

/// Number of bytes that [`source`] sends to each client: more than a connection's buffer.
const SOURCE_BYTES: usize = 96 * 1024;

/// A port at which connections stay pending: its queue is full, and nothing accepts from it.
pub(super) struct Silent {
    listener: TcpListener,
    _pending: Vec<OwnedFd>,
}

impl Silent {
    pub(super) fn listen() -> Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        listen(&socket, 0)?;
        let listener = TcpListener::from(socket);
        let at = listener.local_addr()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let mut pending = Vec::new();
        for _ in 0..4 {
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
            // The attempt continues in the kernel, as far as it can.
            let _ = connect(&socket, &at);
            pending.push(socket);
        }
        Ok(Self {
            listener,
            _pending: pending,
        })
    }

    pub(super) fn at(&self) -> Result<SocketAddrV4> {
        as_seen_by_guest(&self.listener)
    }
}

/// Serves data to every client, reads nothing, and closes no connection.
pub(super) fn source() -> Result<SocketAddrV4> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = as_seen_by_guest(&listener)?;
    thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            let mut stream: TcpStream = stream;
            // The write sends as much as there is room for.
            let _ = stream.set_nonblocking(true);
            let _ = stream.write(&[7; SOURCE_BYTES]);
            held.push(stream);
        }
    });
    Ok(at)
}

/// Opens a port that receives datagrams and answers none.
pub(super) fn silent_datagrams() -> Result<UdpSocket> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?)
}

fn as_seen_by_guest(listener: &TcpListener) -> Result<SocketAddrV4> {
    Ok(SocketAddrV4::new(GATEWAY, listener.local_addr()?.port()))
}

/// Connects to a port of the host from the address `from`.
pub(super) fn connect_from(from: Ipv4Addr, to: SocketAddrV4) -> Result<TcpStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrV4::new(from, 0))?;
    match connect(&socket, &to) {
        Ok(()) => Ok(TcpStream::from(socket)),
        Err(error) => bail!("{from} cannot connect to {to}: {error}"),
    }
}
