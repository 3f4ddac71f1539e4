use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use msb_network::{
    DefaultPolicy, FlowEnd, GATEWAY_ADDRESS, GUEST_ADDRESS, NetworkClose, NetworkConnect,
    NetworkEvent, NetworkQuery, NetworkReport, NetworkTotals, Protocol, Settings, Verdict,
};
use rustix::net::sockopt::set_socket_linger;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::tcp::State;
use smoltcp::wire::{Icmpv4Packet, Icmpv4Repr, IpProtocol};

use crate::guest::{Guest, Host, Reports, TIMEOUT, allowing, datagram, ip_frame, read_control};
use crate::names::{ADDRESS, AT, ask, resolver};

/// The reports of a network that has ended.
struct Reported {
    events: Vec<NetworkEvent>,
    totals: NetworkTotals,
}

impl Reported {
    /// Ends the network, and sorts its reports.
    fn of(host: Host) -> Self {
        let mut reported = Self {
            events: Vec::new(),
            totals: NetworkTotals::default(),
        };
        for report in host.end() {
            match report {
                NetworkReport::Record(record) => reported.events.push(record.event),
                NetworkReport::Totals(totals) => reported.totals = totals,
            }
        }
        reported
    }

    fn connects(&self) -> Vec<&NetworkConnect> {
        let events = self.events.iter();
        let connects = events.filter_map(|event| match event {
            NetworkEvent::Connect(connect) => Some(connect),
            _ => None,
        });
        connects.collect()
    }

    fn closes(&self) -> Vec<&NetworkClose> {
        let events = self.events.iter();
        let closes = events.filter_map(|event| match event {
            NetworkEvent::Close(close) => Some(close),
            _ => None,
        });
        closes.collect()
    }

    fn queries(&self) -> Vec<&NetworkQuery> {
        let events = self.events.iter();
        let queries = events.filter_map(|event| match event {
            NetworkEvent::Dns(query) => Some(query),
            _ => None,
        });
        queries.collect()
    }

    fn lost(&self) -> u64 {
        let count = |event: &NetworkEvent| match event {
            NetworkEvent::Lost { count } => *count,
            _ => 0,
        };
        self.events.iter().map(count).sum()
    }
}

/// Waits until the network has taken all frames before.
fn settle(host: &mut Host) {
    let icmp = Icmpv4Repr::EchoRequest {
        ident: 1,
        seq_no: 1,
        data: b"ping",
    };
    let mut bytes = vec![0; icmp.buffer_len()];
    icmp.emit(
        &mut Icmpv4Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::default(),
    );
    let ping = ip_frame(GUEST_ADDRESS, GATEWAY_ADDRESS, IpProtocol::Icmp, &bytes);
    host.link.send(&ping);
    host.link
        .await_frame(|frame| (read_control(frame)? == (0, 0)).then_some(()));
}

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
fn queries_have_their_codes_and_give_addresses_their_names() {
    let mut settings = Settings {
        deny: vec!["*.evil.example".parse().unwrap()],
        ..Settings::default()
    };
    let questions = resolver(&mut settings);
    let mut host = Host::new(settings);
    ask(&mut host, "Files.example.", RecordType::A);
    ask(&mut host, "files.example.", RecordType::AAAA);
    ask(&mut host, "www.evil.example.", RecordType::A);
    ask(&mut host, "files.example.", RecordType::ANY);
    questions.recv().unwrap();
    let mut hostile = Message::query();
    let labels = [&b"a\n\x1b[2J\"$(x)"[..], b"\xff"];
    let name = Name::from_labels(labels).unwrap();
    hostile.add_query(Query::query(name, RecordType::from(4000)));
    host.link
        .send(&datagram(5300, AT, &hostile.to_vec().unwrap()));
    let to = SocketAddrV4::new(ADDRESS, 9);
    host.link.send(&datagram(5000, to, b""));
    settle(&mut host);
    let reported = Reported::of(host);
    let queries: Vec<_> = reported
        .queries()
        .iter()
        .map(|query| {
            format!(
                "{} {} {} {}",
                query.name, query.record_type, query.rule, query.code
            )
        })
        .collect();
    assert_eq!(
        queries[..4],
        [
            "files.example A outbound NOERROR",
            "files.example AAAA outbound NOERROR",
            "www.evil.example A *.evil.example NXDOMAIN",
            "files.example ANY never REFUSED",
        ]
    );
    let hostile = &queries[4];
    assert!(hostile.ends_with(" TYPE4000 never REFUSED"), "{hostile}");
    assert!(
        hostile.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
        "{hostile}"
    );
    // What a guest chose is not to be pasted.
    assert!(reported.queries().iter().all(|query| query.hint.is_none()));
    let connects = reported.connects();
    assert_eq!(connects[0].name.as_deref(), Some("files.example"));
    assert_eq!(reported.totals.queries, 5);
    assert_eq!(reported.totals.refused_queries, 3);
}

#[test]
fn a_name_that_is_not_listed_says_what_would_open_it() {
    let mut host = Host::new(Settings {
        reach: DefaultPolicy::Listed,
        ..Settings::default()
    });
    ask(&mut host, "files.example.", RecordType::A);
    let reported = Reported::of(host);
    let queries = reported.queries();
    assert_eq!(
        (queries[0].rule.as_str(), queries[0].verdict),
        ("listed", Verdict::Denied)
    );
    assert_eq!(
        queries[0].hint.as_deref(),
        Some("--net-allow files.example")
    );
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
