use std::net::{Ipv4Addr, SocketAddrV4};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetFrame, EthernetProtocol, IpAddress, IpProtocol, Ipv4Packet, TcpPacket, UdpPacket,
};

use crate::link::GUEST_ADDRESS;

/// The two ends of a flow: a port of the guest and a remote address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub(crate) guest_port: u16,
    pub(crate) remote: SocketAddrV4,
}

/// A complete IPv4 packet whose sender is the guest's own address.
#[derive(Debug)]
pub(crate) struct Packet<'a> {
    /// The packet from its IPv4 header on.
    pub(crate) bytes: &'a [u8],
    pub(crate) kind: Kind,
}

/// The payload of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A TCP segment; `opens` is true if it opens a connection.
    Tcp { key: FlowKey, opens: bool },
    /// A UDP datagram, with the range of its payload in the packet.
    Udp {
        key: FlowKey,
        payload: std::ops::Range<usize>,
    },
    /// An ICMP message to this address.
    Icmp { destination: Ipv4Addr },
}

impl<'a> Packet<'a> {
    /// Parses the packet in `frame`. `None` if it has another protocol, is damaged, is a fragment,
    /// or names a sender other than the guest.
    pub(crate) fn parse(frame: &'a [u8]) -> Option<Self> {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        if ethernet.ethertype() != EthernetProtocol::Ipv4 {
            return None;
        }
        let header_bytes = EthernetFrame::<&[u8]>::header_len();
        let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
        let is_fragment = ip.more_frags() || ip.frag_offset() != 0;
        let is_sound = ip.version() == 4 && ip.header_len() >= 20 && ip.verify_checksum();
        if is_fragment || !is_sound || ip.src_addr() != GUEST_ADDRESS {
            return None;
        }
        let kind = Kind::parse(&ip)?;
        let length = usize::from(ip.total_len());
        Some(Self {
            bytes: frame.get(header_bytes..header_bytes + length)?,
            kind,
        })
    }
}

impl Kind {
    fn parse(ip: &Ipv4Packet<&[u8]>) -> Option<Self> {
        let key = |guest_port, port| FlowKey {
            guest_port,
            remote: SocketAddrV4::new(ip.dst_addr(), port),
        };
        let addresses = [ip.src_addr(), ip.dst_addr()].map(IpAddress::from);
        match ip.next_header() {
            IpProtocol::Tcp => {
                let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
                let is_sound = tcp.verify_checksum(&addresses[0], &addresses[1]);
                let opens = tcp.syn() && !tcp.ack() && !tcp.rst() && !tcp.fin();
                let has_ports = tcp.src_port() != 0 && tcp.dst_port() != 0;
                (is_sound && has_ports).then(|| Self::Tcp {
                    key: key(tcp.src_port(), tcp.dst_port()),
                    opens,
                })
            }
            IpProtocol::Udp => {
                let udp = UdpPacket::new_checked(ip.payload()).ok()?;
                let is_sound = udp.verify_checksum(&addresses[0], &addresses[1]);
                let has_ports = udp.src_port() != 0 && udp.dst_port() != 0;
                let start = usize::from(ip.header_len()) + smoltcp::wire::UDP_HEADER_LEN;
                (is_sound && has_ports).then(|| Self::Udp {
                    key: key(udp.src_port(), udp.dst_port()),
                    payload: start..start + udp.payload().len(),
                })
            }
            IpProtocol::Icmp => Some(Self::Icmp {
                destination: ip.dst_addr(),
            }),
            _ => None,
        }
    }
}

/// Has smoltcp compute and verify every checksum: nothing else does.
pub(crate) fn checksums() -> ChecksumCapabilities {
    ChecksumCapabilities::default()
}
