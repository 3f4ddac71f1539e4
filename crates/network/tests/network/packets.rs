use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use msb_network::{GATEWAY_ADDRESS, GUEST_ADDRESS, Settings};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    Icmpv4Packet, Icmpv4Repr, IpAddress, IpProtocol, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
};

use crate::guest::{Host, TIMEOUT, allowing, datagram, ip_frame, read_control, read_datagram};

/// Type and code of the answer for a denied destination.
const PROHIBITED: (u8, u8) = (3, 13);
const PORT_UNREACHABLE: (u8, u8) = (3, 3);

fn syn(to: SocketAddrV4) -> Vec<u8> {
    let tcp = TcpRepr {
        src_port: 40_000,
        dst_port: to.port(),
        control: TcpControl::Syn,
        seq_number: TcpSeqNumber(1),
        ack_number: None,
        window_len: 1000,
        window_scale: None,
        max_seg_size: Some(1460),
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload: &[],
    };
    let mut bytes = vec![0; tcp.buffer_len()];
    tcp.emit(
        &mut TcpPacket::new_unchecked(&mut bytes[..]),
        &IpAddress::from(GUEST_ADDRESS),
        &IpAddress::from(*to.ip()),
        &ChecksumCapabilities::default(),
    );
    ip_frame(GUEST_ADDRESS, *to.ip(), IpProtocol::Tcp, &bytes)
}

#[test]
fn what_is_denied_is_said_at_once() {
    let mut host = Host::new(Settings::default());
    for to in [
        "169.254.169.254:80",
        "10.0.0.1:443",
        "127.0.0.1:22",
        "0.0.0.0:22",
        "192.0.0.1:22",
        "192.168.0.1:80",
        "224.0.0.1:80",
    ] {
        let to = to.parse().unwrap();
        host.link.send(&syn(to));
        assert_eq!(host.link.await_frame(read_control), PROHIBITED, "{to}");
        host.link.send(&datagram(40_000, to, b"hello"));
        assert_eq!(host.link.await_frame(read_control), PROHIBITED, "{to}");
    }
    host.end();
}

#[test]
fn datagrams_go_both_ways() {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    server.set_read_timeout(Some(TIMEOUT)).unwrap();
    let port = server.local_addr().unwrap().port();
    let at = SocketAddrV4::new(GATEWAY_ADDRESS, port);
    let mut host = Host::new(allowing(&[format!("127.0.0.1:{port}")]));
    for round in 0..3_u8 {
        host.link.send(&datagram(5000, at, &[round; 1472]));
        let mut buffer = [0; 2000];
        let (length, client) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], [round; 1472]);
        server.send_to(b"answer", client).unwrap();
        let answer = host
            .link
            .await_frame(|frame| read_datagram(frame, at, 5000));
        assert_eq!(answer, b"answer");
    }
    // A datagram that does not fit a frame is lost, and nothing else is.
    host.link.send(&datagram(5000, at, b"again"));
    let (_, client) = server.recv_from(&mut [0; 2000]).unwrap();
    server.send_to(&[0; 1473], client).unwrap();
    server.send_to(b"small", client).unwrap();
    let answer = host
        .link
        .await_frame(|frame| read_datagram(frame, at, 5000));
    assert_eq!(answer, b"small");
    drop(server);
    host.link.send(&datagram(5001, at, b"nobody"));
    assert_eq!(host.link.await_frame(read_control), PORT_UNREACHABLE);
    host.end();
}

#[test]
fn a_published_port_takes_datagrams() {
    let settings = Settings {
        publish: vec!["53/udp".parse().unwrap()],
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    let at = host.published[0].host;
    let clients = [b"one", b"two"].map(|word| {
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        client.set_read_timeout(Some(TIMEOUT)).unwrap();
        client.send_to(word, at).unwrap();
        (client, word)
    });
    for _ in &clients {
        let (from, said) = host.link.await_frame(|frame| {
            let ip = smoltcp::wire::Ipv4Packet::new_checked(frame.get(14..)?).ok()?;
            let udp = smoltcp::wire::UdpPacket::new_checked(ip.payload()).ok()?;
            let from = SocketAddrV4::new(ip.src_addr(), udp.src_port());
            Some((from, read_datagram(frame, from, 53)?))
        });
        assert_eq!(*from.ip(), GATEWAY_ADDRESS);
        host.link.send(&datagram(53, from, &said));
    }
    for (client, word) in clients {
        let mut answer = [0; 10];
        let length = client.recv(&mut answer).unwrap();
        assert_eq!(&answer[..length], word);
    }
    host.end();
}

#[test]
fn a_guest_has_one_address_and_no_fragments() {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let at = SocketAddrV4::new(GATEWAY_ADDRESS, port);
    let mut host = Host::new(allowing(&[format!("127.0.0.1:{port}")]));
    let sound = datagram(5000, at, b"sound");
    let mut other_sender = ip_frame(
        Ipv4Addr::new(192, 0, 0, 3),
        *at.ip(),
        IpProtocol::Udp,
        &sound[34..],
    );
    // Without a checksum only the address is wrong.
    other_sender[40..42].fill(0);
    let mut damaged = sound.clone();
    damaged[20] ^= 1;
    for frame in [other_sender, damaged, sound] {
        host.link.send(&frame);
    }
    server.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut buffer = [0; 100];
    let length = server.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"sound");
    server.set_nonblocking(true).unwrap();
    assert!(server.recv(&mut buffer).is_err());
    host.end();
}

#[test]
fn a_frame_that_does_not_fit_the_wire_is_dropped() {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let at = SocketAddrV4::new(GATEWAY_ADDRESS, port);
    let mut host = Host::new(allowing(&[format!("127.0.0.1:{port}")]));
    for payload in [vec![1; 1473], vec![1; 60_000], vec![2; 1472]] {
        host.link.send(&datagram(5000, at, &payload));
    }
    server.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut buffer = vec![0; 65_536];
    let length = server.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], [2; 1472]);
    host.end();
}

#[test]
fn the_gateway_answers_a_ping() {
    let mut host = Host::new(Settings::default());
    let icmp = Icmpv4Repr::EchoRequest {
        ident: 1,
        seq_no: 2,
        data: b"ping",
    };
    let mut bytes = vec![0; icmp.buffer_len()];
    icmp.emit(
        &mut Icmpv4Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::default(),
    );
    host.link.send(&ip_frame(
        GUEST_ADDRESS,
        GATEWAY_ADDRESS,
        IpProtocol::Icmp,
        &bytes,
    ));
    assert_eq!(host.link.await_frame(read_control), (0, 0));
    host.end();
}
