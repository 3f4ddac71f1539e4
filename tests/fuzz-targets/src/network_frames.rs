//! Frames of a guest, with DNS queries among them, as a sandbox's network gets them from a VMM.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;

use msb_network::{
    DefaultPolicy, GATEWAY_ADDRESS, GUEST_ADDRESS, GUEST_MAC, MTU_BYTES, Network, NetworkReport,
    READY, Settings,
};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpAddress, IpProtocol,
    Ipv4Packet, Ipv4Repr, TcpPacket, UdpPacket, UdpRepr,
};

/// Length of an Ethernet header, and of the length before a frame.
const ETHERNET_BYTES: usize = 14;
const LENGTH_BYTES: usize = 4;
/// The address of a port of this host that no program listens at. Nothing else is allowed.
const CLOSED: &str = "127.0.0.1:9";
/// The guest's port that queries come from.
const QUERY_PORT: u16 = 5300;
/// The bits of a length that are not part of it: they choose a kind of frame.
const KIND_SHIFT: u8 = 6;
/// The longest piece of an input.
const PIECE_MAX: usize = 0x7ff;

/// Plays a guest that sends frames: pieces of the input, or the input itself where frames and lengths should be.
///
/// # Panics
/// If the network ends before the guest's VMM, or sends something that is not a frame for the guest.
pub fn run(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let is_raw = choice & 1 != 0;
    let stream = if is_raw {
        bytes.to_vec()
    } else {
        frames(bytes)
    };
    let (guest_end, network_end) = UnixStream::pair().expect("a socket");
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let reports = File::from(OwnedFd::from(writer));
    let network = Network::bind(&settings(), None).expect("a network");
    let received = thread::scope(|scope| {
        let guest = scope.spawn(|| play(guest_end, &stream));
        let served = network.serve(network_end, reports);
        assert!(is_raw || served.is_ok(), "{served:?}");
        guest.join().expect("the guest does not panic")
    });
    check(&received);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("reports are text");
    for line in text.lines() {
        let report = serde_json::from_str::<NetworkReport>(line);
        report.unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

fn settings() -> Settings {
    Settings {
        reach: DefaultPolicy::Listed,
        allow: vec![CLOSED.parse().expect("a rule")],
        resolvers: vec![CLOSED.parse().expect("an address")],
        ..Settings::default()
    }
}

/// Sends a stream, and returns all that comes back.
fn play(mut socket: UnixStream, stream: &[u8]) -> Vec<u8> {
    // The network ends where it sees that these are no frames.
    let _ = socket.write_all(stream);
    let _ = socket.shutdown(Shutdown::Write);
    let mut received = Vec::new();
    let _ = socket.read_to_end(&mut received);
    received
}

/// Checks that what the guest received are frames for it.
fn check(received: &[u8]) {
    let mut rest = received.strip_prefix(&READY).unwrap_or_default();
    while let Some((length, behind)) = rest.split_first_chunk::<LENGTH_BYTES>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).expect("a length");
        assert!((ETHERNET_BYTES..=usize::from(MTU_BYTES) + ETHERNET_BYTES).contains(&length));
        // The last one may be cut by the end.
        let Some((frame, behind)) = behind.split_at_checked(length) else {
            break;
        };
        let frame = EthernetFrame::new_checked(frame).expect("a frame");
        assert_eq!(frame.dst_addr(), EthernetAddress(GUEST_MAC));
        if frame.ethertype() == EthernetProtocol::Ipv4 {
            let ip = Ipv4Packet::new_checked(frame.payload()).expect("a packet");
            assert!(ip.verify_checksum());
            assert_eq!(ip.dst_addr(), GUEST_ADDRESS);
        }
        rest = behind;
    }
}

/// Returns the frames that an input describes, each behind its length.
fn frames(input: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut rest = input;
    while let Some((&[high, low], behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low])) & PIECE_MAX;
        let (piece, behind) = behind.split_at(length.min(behind.len()));
        rest = behind;
        let frame = match high >> KIND_SHIFT {
            0 => piece.to_vec(),
            1 => query(piece),
            _ => sound(piece),
        };
        let length = u32::try_from(frame.len()).expect("a short frame");
        stream.extend(length.to_be_bytes());
        stream.extend(frame);
    }
    stream
}

/// Returns a piece that is a frame, with right checksums in it.
fn sound(piece: &[u8]) -> Vec<u8> {
    let mut frame = piece.to_vec();
    let packet = frame.get_mut(ETHERNET_BYTES..).unwrap_or_default();
    if let Ok(mut ip) = Ipv4Packet::new_checked(packet) {
        ip.fill_checksum();
        let addresses = [ip.src_addr(), ip.dst_addr()].map(IpAddress::from);
        match ip.next_header() {
            IpProtocol::Tcp => {
                if let Ok(mut tcp) = TcpPacket::new_checked(ip.payload_mut()) {
                    tcp.fill_checksum(&addresses[0], &addresses[1]);
                }
            }
            IpProtocol::Udp => {
                if let Ok(mut udp) = UdpPacket::new_checked(ip.payload_mut()) {
                    udp.fill_checksum(&addresses[0], &addresses[1]);
                }
            }
            _ => {}
        }
    }
    frame
}

/// Returns a frame with a datagram to the gateway's port for queries.
fn query(payload: &[u8]) -> Vec<u8> {
    let to = SocketAddrV4::new(GATEWAY_ADDRESS, 53);
    let udp = UdpRepr {
        src_port: QUERY_PORT,
        dst_port: to.port(),
    };
    let payload_bytes = smoltcp::wire::UDP_HEADER_LEN + payload.len();
    let ip = Ipv4Repr {
        src_addr: GUEST_ADDRESS,
        dst_addr: *to.ip(),
        next_header: IpProtocol::Udp,
        payload_len: payload_bytes,
        hop_limit: 64,
    };
    let ethernet = EthernetRepr {
        src_addr: EthernetAddress(GUEST_MAC),
        dst_addr: EthernetAddress::BROADCAST,
        ethertype: EthernetProtocol::Ipv4,
    };
    let checksums = ChecksumCapabilities::default();
    let mut frame = vec![0; ETHERNET_BYTES + ip.buffer_len() + payload_bytes];
    ethernet.emit(&mut EthernetFrame::new_unchecked(&mut frame));
    let mut packet = Ipv4Packet::new_unchecked(&mut frame[ETHERNET_BYTES..]);
    ip.emit(&mut packet, &checksums);
    udp.emit(
        &mut UdpPacket::new_unchecked(packet.payload_mut()),
        &IpAddress::from(GUEST_ADDRESS),
        &IpAddress::from(*to.ip()),
        payload.len(),
        |bytes| bytes.copy_from_slice(payload),
        &checksums,
    );
    frame
}
