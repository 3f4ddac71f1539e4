use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

/// Returns a non-blocking datagram socket that exchanges datagrams with `peer` alone. The kernel
/// chooses its port, so it needs no `bind`, which the network process may not call.
pub(crate) fn connected_socket(peer: SocketAddr) -> io::Result<UdpSocket> {
    let family = match peer {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    connect(&socket, &peer)?;
    Ok(UdpSocket::from(socket))
}
