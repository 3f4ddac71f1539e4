use std::net::{IpAddr, Ipv4Addr};

use crate::datagram_socket::connected_socket;

/// Returns true if `address` currently belongs to an interface of this host.
///
/// A packet to one of the host's own addresses leaves from that address, so the routing table
/// answers: a datagram socket that is connected to it sends nothing and gets its source address
/// chosen. Unlike a list of interfaces, the routing table also knows addresses that are only routed
/// to the host.
pub(crate) fn is_own_address(address: Ipv4Addr) -> bool {
    if address.is_loopback() {
        return true;
    }
    let source = || connected_socket((address, 9).into())?.local_addr();
    // An address without a route cannot be connected to either.
    source().is_ok_and(|source| source.ip() == IpAddr::V4(address))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn the_host_knows_itself() {
        assert!(is_own_address(Ipv4Addr::LOCALHOST));
        assert!(is_own_address(Ipv4Addr::new(127, 1, 2, 3)));
        assert!(!is_own_address(Ipv4Addr::new(192, 0, 2, 77)));
        // The source address towards other hosts is one of this host's own.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        if socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).is_ok()
            && let Ok(IpAddr::V4(own)) = socket.local_addr().map(|address| address.ip())
        {
            assert!(is_own_address(own), "{own}");
        }
    }
}
