//! Frames that the gateway itself makes.

use std::net::{Ipv4Addr, SocketAddrV4};

use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, ETHERNET_HEADER_LEN, EthernetAddress, EthernetFrame,
    EthernetProtocol, EthernetRepr, Icmpv4DstUnreachable, Icmpv4Packet, Icmpv4Repr, IpAddress,
    IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, UDP_HEADER_LEN, UdpPacket,
    UdpRepr,
};

use crate::link::{GATEWAY_ADDRESS, GATEWAY_MAC, GUEST_ADDRESS, GUEST_MAC, MTU_BYTES};
use crate::packet::checksums;

/// The number of bytes quoted in an error about a packet (RFC 1812, section 4.3.2.3).
const QUOTED_MAX_BYTES: usize = 512;
const HOP_LIMIT: u8 = 64;
/// The ICMP code for a destination that the rules deny. A connection fails at once, and with
/// another error than one that the destination refuses.
pub(crate) const DENIED: Icmpv4DstUnreachable = Icmpv4DstUnreachable::CommProhibited;
/// The largest payload of a datagram that is not fragmented.
pub(crate) const DATAGRAM_MAX_BYTES: usize =
    u16_to_usize(MTU_BYTES) - smoltcp::wire::IPV4_HEADER_LEN - UDP_HEADER_LEN;

#[expect(clippy::as_conversions, reason = "no other conversion is const")]
const fn u16_to_usize(value: u16) -> usize {
    value as usize
}

/// Writes the Ethernet header of a frame from the gateway to the guest.
pub(crate) fn write_ethernet_header(frame: &mut [u8], ethertype: EthernetProtocol) {
    EthernetRepr {
        src_addr: GATEWAY_MAC,
        dst_addr: EthernetAddress(GUEST_MAC),
        ethertype,
    }
    .emit(&mut EthernetFrame::new_unchecked(frame));
}

/// Returns a frame that holds an IPv4 packet to the guest.
fn ip_frame(
    source: Ipv4Addr,
    protocol: IpProtocol,
    payload_len: usize,
    write: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let ip = Ipv4Repr {
        src_addr: source,
        dst_addr: GUEST_ADDRESS,
        next_header: protocol,
        payload_len,
        hop_limit: HOP_LIMIT,
    };
    let mut frame = vec![0; ETHERNET_HEADER_LEN + ip.buffer_len() + payload_len];
    write_ethernet_header(&mut frame, EthernetProtocol::Ipv4);
    let mut packet = Ipv4Packet::new_unchecked(&mut frame[ETHERNET_HEADER_LEN..]);
    ip.emit(&mut packet, &checksums());
    write(packet.payload_mut());
    frame
}

/// Returns a frame with a datagram from `source` to a port of the guest. `None` if the payload does
/// not fit a frame.
pub(crate) fn datagram(source: SocketAddrV4, guest_port: u16, payload: &[u8]) -> Option<Vec<u8>> {
    if payload.len() > DATAGRAM_MAX_BYTES {
        return None;
    }
    let udp = UdpRepr {
        src_port: source.port(),
        dst_port: guest_port,
    };
    let length = UDP_HEADER_LEN + payload.len();
    Some(ip_frame(*source.ip(), IpProtocol::Udp, length, |bytes| {
        udp.emit(
            &mut UdpPacket::new_unchecked(bytes),
            &IpAddress::from(*source.ip()),
            &IpAddress::from(GUEST_ADDRESS),
            payload.len(),
            |bytes| bytes.copy_from_slice(payload),
            &checksums(),
        );
    }))
}

/// Returns an ICMP error for an IPv4 packet of the guest that was not forwarded.
pub(crate) fn unreachable(packet: &[u8], reason: Icmpv4DstUnreachable) -> Option<Vec<u8>> {
    let quoted = Ipv4Packet::new_checked(packet).ok()?;
    let header = Ipv4Repr::parse(&quoted, &checksums()).ok()?;
    let payload = quoted.payload();
    let icmp = Icmpv4Repr::DstUnreachable {
        reason,
        header,
        data: &payload[..payload.len().min(QUOTED_MAX_BYTES)],
    };
    // The gateway answers in place of the hosts beyond it.
    Some(control_message(GATEWAY_ADDRESS, &icmp))
}

/// Returns the answer to a ping of the gateway. `None` if the packet is not an echo request.
pub(crate) fn echo(packet: &[u8]) -> Option<Vec<u8>> {
    let ip = Ipv4Packet::new_checked(packet).ok()?;
    let icmp = Icmpv4Packet::new_checked(ip.payload()).ok()?;
    let Icmpv4Repr::EchoRequest {
        ident,
        seq_no,
        data,
    } = Icmpv4Repr::parse(&icmp, &checksums()).ok()?
    else {
        return None;
    };
    let reply = Icmpv4Repr::EchoReply {
        ident,
        seq_no,
        data,
    };
    (ip.total_len() <= MTU_BYTES).then(|| control_message(ip.dst_addr(), &reply))
}

fn control_message(source: Ipv4Addr, icmp: &Icmpv4Repr<'_>) -> Vec<u8> {
    ip_frame(source, IpProtocol::Icmp, icmp.buffer_len(), |bytes| {
        icmp.emit(&mut Icmpv4Packet::new_unchecked(bytes), &checksums());
    })
}

/// Returns the reset of a TCP segment (RFC 9293, section 3.10.7.1). `None` if the segment is itself
/// a reset.
pub(crate) fn reset(packet: &[u8]) -> Option<Vec<u8>> {
    let ip = Ipv4Packet::new_checked(packet).ok()?;
    let segment = TcpPacket::new_checked(ip.payload()).ok()?;
    if segment.rst() {
        return None;
    }
    let (seq_number, ack_number) = if segment.ack() {
        (segment.ack_number(), None)
    } else {
        let end = segment.seq_number() + segment.segment_len();
        (smoltcp::wire::TcpSeqNumber(0), Some(end))
    };
    let tcp = TcpRepr {
        src_port: segment.dst_port(),
        dst_port: segment.src_port(),
        control: TcpControl::Rst,
        seq_number,
        ack_number,
        window_len: 0,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload: &[],
    };
    let source = ip.dst_addr();
    Some(ip_frame(
        source,
        IpProtocol::Tcp,
        tcp.buffer_len(),
        |bytes| {
            let addresses = [source, GUEST_ADDRESS].map(IpAddress::from);
            let mut packet = TcpPacket::new_unchecked(bytes);
            tcp.emit(&mut packet, &addresses[0], &addresses[1], &checksums());
        },
    ))
}

/// Answers an ARP request: the gateway has every address but the guest's own.
pub(crate) fn address_resolution(frame: &[u8]) -> Option<Vec<u8>> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ethertype() != EthernetProtocol::Arp {
        return None;
    }
    let ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr,
        source_protocol_addr,
        target_protocol_addr,
        ..
    } = ArpRepr::parse(&ArpPacket::new_checked(ethernet.payload()).ok()?).ok()?
    else {
        return None;
    };
    if target_protocol_addr == GUEST_ADDRESS || target_protocol_addr == source_protocol_addr {
        return None;
    }
    let reply = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: GATEWAY_MAC,
        source_protocol_addr: target_protocol_addr,
        target_hardware_addr: source_hardware_addr,
        target_protocol_addr: source_protocol_addr,
    };
    let mut frame = vec![0; ETHERNET_HEADER_LEN + reply.buffer_len()];
    write_ethernet_header(&mut frame, EthernetProtocol::Arp);
    reply.emit(&mut ArpPacket::new_unchecked(
        &mut frame[ETHERNET_HEADER_LEN..],
    ));
    Some(frame)
}
