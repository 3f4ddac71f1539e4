use std::net::{IpAddr, Ipv4Addr};

use crate::datagram_socket::connected_socket;

/// Whether `address` is one of this host, on whatever interface, now.
///
/// A packet to oneself leaves from the address it goes to, so the routing table answers: a datagram
/// socket that is connected there sends nothing, and has its source address chosen. Unlike a list
/// of interfaces this knows addresses that are only routed to the host.
pub(crate) fn is_own_address(address: Ipv4Addr) -> bool {
    if address.is_loopback() {
        return true;
    }
    let source = || connected_socket((address, 9).into())?.local_addr();
    // What cannot be routed to is not reached either.
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
        // Whatever address this host has towards others is its own.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        if socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).is_ok()
            && let Ok(IpAddr::V4(own)) = socket.local_addr().map(|address| address.ip())
        {
            assert!(is_own_address(own), "{own}");
        }
    }
}
