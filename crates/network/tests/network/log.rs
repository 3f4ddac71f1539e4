use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use msb_network::{FlowEnd, GATEWAY_ADDRESS, NetworkConnect, Protocol, Settings, Verdict};
use rustix::net::sockopt::set_socket_linger;
use smoltcp::socket::tcp::State;

use crate::guest::{Guest, Host, Reports, TIMEOUT, allowing, datagram};
use crate::reported::{Reported, settle};

/// Returns a listener of the host, its address as the guest sees it, and the rule that allows it.
fn listener() -> (TcpListener, SocketAddrV4, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let at = SocketAddrV4::new(GATEWAY_ADDRESS, port);
    (listener, at, format!("127.0.0.1:{port}"))
}

#[test]
fn a_connection_has_two_records_and_the_bytes_of_both_sides() {
    let (listener, at, rule) = listener();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        stream.write_all(b"an answer").unwrap();
        bytes.len()
    });
    let mut host = Host::new(allowing(std::slice::from_ref(&rule)));
    let reports = host.reports.clone();
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    let mut is_sent = false;
    guest.drive("the end", |socket| {
        if socket.can_send() && !is_sent {
            socket.send_slice(&[7; 1000]).unwrap();
            socket.close();
            is_sent = true;
        }
        if socket.can_recv() {
            socket.recv(|bytes| (bytes.len(), ())).unwrap();
        }
        reports.of_end()
    });
    assert_eq!(server.join().unwrap(), 1000);
    let reported = Reported::of(host);
    let connects = reported.connects();
    assert_eq!(connects.len(), 1, "{connects:?}");
    let connect = connects[0];
    assert_eq!((connect.flow, connect.proto), (Some(1), Protocol::Tcp));
    assert_eq!((connect.port, &connect.rule), (at.port(), &rule));
    assert_eq!(connect.address, Ipv4Addr::LOCALHOST);
    assert_eq!(connect.verdict, Verdict::Allowed);
    assert_eq!((&connect.name, &connect.hint), (&None, &None));
    let closes = reported.closes();
    assert_eq!(closes.len(), 1, "{closes:?}");
    assert_eq!((closes[0].flow, closes[0].end), (1, FlowEnd::Guest));
    assert_eq!((closes[0].sent, closes[0].received), (1000, 9));
    let totals = reported.totals;
    assert_eq!((totals.flows, totals.open_flows), (1, 0));
    assert_eq!((totals.sent_bytes, totals.received_bytes), (1000, 9));
}

/// Connects a guest to a listener, and returns the end of the connection. What `act` returns is kept until the
/// machine's end.
fn end_of<T>(act: impl FnOnce(&mut Guest<'_>, &Reports, TcpListener) -> T) -> FlowEnd {
    let (listener, at, rule) = listener();
    let mut host = Host::new(allowing(&[rule]));
    let reports = host.reports.clone();
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    let kept = act(&mut guest, &reports, listener);
    let reported = Reported::of(host);
    drop(kept);
    assert_eq!(reported.connects().len(), 1);
    let closes = reported.closes();
    assert_eq!(closes.len(), 1, "{closes:?}");
    closes[0].end
}

fn establish(guest: &mut Guest<'_>, listener: &TcpListener) -> TcpStream {
    guest.drive("a connection", |socket| socket.may_send().then_some(()));
    listener.accept().unwrap().0
}

#[test]
fn each_end_of_a_connection_has_its_word() {
    let refused = end_of(|guest, reports, listener| {
        drop(listener);
        guest.drive("a refusal", |_| reports.of_end());
    });
    assert_eq!(refused, FlowEnd::Refused);
    let reset = end_of(|guest, reports, listener| {
        let stream = establish(guest, &listener);
        set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        drop(stream);
        guest.drive("a reset", |_| reports.of_end());
    });
    assert_eq!(reset, FlowEnd::PeerReset);
    let broken_off = end_of(|guest, reports, listener| {
        let stream = establish(guest, &listener);
        guest.drive("the end", |socket| {
            socket.abort();
            reports.of_end()
        });
        stream
    });
    assert_eq!(broken_off, FlowEnd::GuestReset);
    let open = end_of(|guest, _, listener| establish(guest, &listener));
    assert_eq!(open, FlowEnd::Machine);
}

#[test]
fn equal_refusals_are_counted_and_say_what_would_open_them() {
    let mut host = Host::new(Settings::default());
    let to = "10.0.0.5:5432".parse().unwrap();
    for _ in 0..50 {
        host.link.send(&datagram(5000, to, b""));
    }
    host.link
        .send(&datagram(5000, "224.0.0.251:5353".parse().unwrap(), b""));
    settle(&mut host);
    let reported = Reported::of(host);
    let connects = reported.connects();
    let of = |port| connects.iter().filter(move |connect| connect.port == port);
    assert_eq!(of(5432).map(|connect| connect.count).sum::<u64>(), 50);
    let first = of(5432).next().unwrap();
    assert_eq!((first.count, first.flow), (1, None));
    assert_eq!(
        (first.proto, first.verdict),
        (Protocol::Udp, Verdict::Denied)
    );
    assert_eq!(first.rule, "10.0.0.0/8");
    assert_eq!(first.hint.as_deref(), Some("--net-allow 10.0.0.5:5432"));
    let never = of(5353).next().unwrap();
    assert_eq!((never.rule.as_str(), &never.hint), ("never", &None));
    assert_eq!(reported.totals.refused_flows, 51);
}

#[test]
fn refusals_without_end_are_lost_and_hide_no_connection() {
    const FLOOD: u64 = 5000;
    let (listener, at, rule) = listener();
    let mut host = Host::new(allowing(&[rule]));
    for number in 0..u32::try_from(FLOOD).unwrap() {
        let address = Ipv4Addr::from_bits(u32::from_be_bytes([10, 0, 0, 0]) + number);
        host.link
            .send(&datagram(5000, SocketAddrV4::new(address, 80), b""));
        while host.link.take().is_some() {}
    }
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    guest.drive("a connection", |socket| socket.may_send().then_some(()));
    drop(listener);
    let reported = Reported::of(host);
    let allowed = |connect: &&&NetworkConnect| connect.verdict == Verdict::Allowed;
    let connects = reported.connects();
    assert_eq!(connects.iter().filter(allowed).count(), 1);
    let denied = connects.iter().filter(|connect| !allowed(connect));
    let denied: u64 = denied.map(|connect| connect.count).sum();
    assert_eq!(denied + reported.lost(), FLOOD);
    assert!(reported.lost() > 0);
    assert_eq!(reported.totals.lost_records, reported.lost());
}

#[test]
fn a_client_of_a_published_port_is_a_flow() {
    let settings = Settings {
        publish: vec!["80".parse().unwrap()],
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    let at = host.published[0].host.into();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect_timeout(&at, TIMEOUT).unwrap();
        stream.write_all(b"to the guest").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    let reports = host.reports.clone();
    let mut guest = Guest::new(&mut host.link);
    guest.listen(80);
    guest.drive("the end", |socket| {
        if socket.can_recv() {
            socket.recv(|bytes| (bytes.len(), ())).unwrap();
        }
        if socket.state() == State::CloseWait {
            socket.close();
        }
        reports.of_end()
    });
    client.join().unwrap();
    let reported = Reported::of(host);
    let connect = reported.connects()[0];
    assert_eq!((connect.port, connect.rule.as_str()), (80, "published"));
    assert_eq!(connect.address, Ipv4Addr::LOCALHOST);
    let close = reported.closes()[0];
    assert_eq!((close.sent, close.received), (0, 12));
    assert_eq!(close.end, FlowEnd::Peer);
}
