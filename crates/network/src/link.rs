//! The wire between guest and host: who is on it, and under which addresses.

use std::net::Ipv4Addr;

use smoltcp::wire::EthernetAddress;

/// The guest's address. It and the gateway's are of the block that RFC 7335 sets aside for links
/// of one host and its gateway, so they collide with no network that a guest may want to reach.
pub const GUEST_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);

/// The gateway's address: it answers questions for names, and stands for the host's loopback.
pub const GATEWAY_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);

/// How many bits of the addresses say the network.
pub const PREFIX_BITS: u8 = 29;

/// The largest packet on the wire, in bytes.
pub const MTU_BYTES: u16 = 1500;

/// The guest's hardware address.
pub const GUEST_MAC: [u8; 6] = [0x02, 0x6d, 0x73, 0x62, 0, 2];

/// The gateway's hardware address, which every address beyond the guest has.
pub(crate) const GATEWAY_MAC: EthernetAddress = EthernetAddress([0x02, 0x6d, 0x73, 0x62, 0, 1]);

/// Where the gateway answers questions for names.
pub(crate) const DNS_PORT: u16 = 53;
