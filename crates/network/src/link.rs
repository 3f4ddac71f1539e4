//! The wire between guest and host: its two ends and their addresses.

use std::net::Ipv4Addr;

use smoltcp::wire::EthernetAddress;

/// The guest's address.
///
/// It and the gateway's belong to the block that RFC 7335 reserves for links between one host and
/// its gateway, so they collide with no network that a guest may want to connect to.
pub const GUEST_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);

/// The gateway's address. The gateway answers DNS queries and stands for the host's loopback.
pub const GATEWAY_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);

/// The length of the network prefix, in bits.
pub const PREFIX_BITS: u8 = 29;

/// The largest packet on the wire, in bytes.
pub const MTU_BYTES: u16 = 1500;

/// The guest's hardware address.
pub const GUEST_MAC: [u8; 6] = [0x02, 0x6d, 0x73, 0x62, 0, 2];

/// The gateway's hardware address. Every address beyond the guest resolves to it.
pub(crate) const GATEWAY_MAC: EthernetAddress = EthernetAddress([0x02, 0x6d, 0x73, 0x62, 0, 1]);

/// The gateway's port for DNS queries.
pub(crate) const DNS_PORT: u16 = 53;

/// Returns the address that the host connects to if the guest connects to `address`: the gateway
/// stands for the host's loopback.
pub(crate) fn host_address(address: Ipv4Addr) -> Ipv4Addr {
    if address == GATEWAY_ADDRESS {
        Ipv4Addr::LOCALHOST
    } else {
        address
    }
}
