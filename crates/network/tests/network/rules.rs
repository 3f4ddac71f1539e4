use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::unix::net::UnixStream;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{Name, RData, RecordType};
use msb_network::{
    DefaultPolicy, FlowEnd, FromNetwork, GATEWAY_ADDRESS, NetworkEvent, NetworkReport,
    NetworkRules, Settings, ToNetwork, Told, message_line, message_of_line,
};
use smoltcp::socket::tcp::State;

use crate::guest::{Guest, Host, TIMEOUT, datagram, read_control, read_datagram};
use crate::names::{ADDRESS, AT, ask, resolver, resolver_to};

/// The answer to a packet that the rules deny: an ICMP message.
const PROHIBITED: (u8, u8) = (3, 13);
/// An address of a private network.
const PRIVATE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 1, 2, 3), 5432);

/// The supervisor of a network, played by a test.
struct Supervisor {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
    number: u64,
}

impl Supervisor {
    fn new(stream: UnixStream) -> Self {
        Self {
            lines: BufReader::new(stream.try_clone().unwrap()),
            stream,
            number: 0,
        }
    }

    fn send(&self, message: &ToNetwork) {
        let line = message_line(message).unwrap();
        (&self.stream).write_all(&line).unwrap();
    }

    fn received(&mut self) -> FromNetwork {
        let mut line = Vec::new();
        self.lines.read_until(b'\n', &mut line).unwrap();
        message_of_line(&line).unwrap()
    }

    /// Has the network follow rules. Returns its error.
    fn follow(&mut self, rules: NetworkRules, closes: bool) -> Option<String> {
        self.number += 1;
        let number = self.number;
        self.send(&ToNetwork::Rules {
            number,
            rules,
            closes,
        });
        match self.received() {
            FromNetwork::Changed {
                number: changed,
                error,
            } if changed == number => error,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the next question: its number and its subject.
    fn asked(&mut self) -> (u64, String) {
        match self.received() {
            FromNetwork::Asked { token, subject } => (token, subject),
            other => panic!("{other:?}"),
        }
    }

    fn tell(&self, token: u64, told: Told) {
        self.send(&ToNetwork::Told { token, told });
    }
}

fn start(settings: Settings) -> (Host, Supervisor) {
    let (host, stream) = Host::supervised(settings);
    (host, Supervisor::new(stream))
}

fn asking() -> Settings {
    Settings {
        reach: DefaultPolicy::Listed,
        asks: true,
        ..Settings::default()
    }
}

fn listed(allow: &[String]) -> NetworkRules {
    NetworkRules::parse(DefaultPolicy::Listed, allow, &[]).unwrap()
}

/// Sends a query without waiting for its answer.
fn query(host: &mut Host, name: &str, port: u16) {
    let mut question = Message::query();
    question.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
    let question = question.to_vec().unwrap();
    host.link.send(&datagram(port, AT, &question));
}

fn answer(host: &mut Host, port: u16) -> Message {
    let answer = host
        .link
        .await_frame(|frame| read_datagram(frame, AT, port));
    Message::from_vec(&answer).unwrap()
}

#[test]
fn rules_open_the_next_connection_and_end_open_ones_if_they_are_to() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let at = SocketAddrV4::new(GATEWAY_ADDRESS, port);
    let rule = format!("127.0.0.1:{port}");
    let (mut host, mut supervisor) = start(Settings::default());
    host.link.send(&datagram(5000, at, b"x"));
    assert_eq!(host.link.await_frame(read_control), PROHIBITED);
    let rules = listed(std::slice::from_ref(&rule));
    assert_eq!(supervisor.follow(rules, false), None);
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    guest.drive("the connection", |socket| socket.may_send().then_some(()));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // The rule is gone, and the connection stays.
    assert_eq!(supervisor.follow(listed(&[]), false), None);
    guest.drive("room", |socket| socket.send_slice(b"still").ok());
    let mut said = [0; 5];
    let mut read = 0;
    while read < said.len() {
        guest.drive("a packet", |_| Some(()));
        read += stream.read(&mut said[read..]).unwrap();
    }
    assert_eq!(&said, b"still");
    assert_eq!(supervisor.follow(listed(&[]), true), None);
    guest.drive("the end", |socket| {
        (socket.state() == State::Closed).then_some(())
    });
    assert!(stream.read(&mut said).is_err(), "it is a reset");
    let reports = host.end();
    let records: Vec<_> = reports
        .into_iter()
        .filter_map(|report| match report {
            NetworkReport::Record(record) => Some(record.event),
            NetworkReport::Totals(_) => None,
        })
        .collect();
    let of_rules: Vec<_> = records
        .iter()
        .filter_map(|event| match event {
            NetworkEvent::Rules(change) => Some((&change.allow[..], &change.removed[..])),
            _ => None,
        })
        .collect();
    let rule = std::slice::from_ref(&rule);
    let none: &[String] = &[];
    assert_eq!(of_rules, [(rule, none), (none, rule), (none, none)]);
    let is_revoked = |event: &NetworkEvent| matches!(event, NetworkEvent::Close(close) if close.end == FlowEnd::Revoked);
    assert!(records.iter().any(is_revoked), "{records:?}");
}

#[test]
fn rules_that_cannot_be_followed_change_nothing() {
    let (mut host, mut supervisor) = start(Settings::default());
    let requests = listed(&["https://api.example.com/v1/*:GET".to_owned()]);
    let refused = supervisor.follow(requests, false).unwrap();
    assert!(refused.contains("TLS of api.example.com"), "{refused}");
    let many: Vec<_> = (0..1025).map(|number| format!("a{number}.test")).collect();
    let refused = supervisor.follow(listed(&many), false).unwrap();
    assert!(refused.contains("1025 rules"), "{refused}");
    // The rules are those of before: everything but private addresses.
    host.link.send(&datagram(5000, PRIVATE, b"x"));
    assert_eq!(host.link.await_frame(read_control), PROHIBITED);
    host.end();
}

#[test]
fn a_name_waits_for_its_answer_and_is_asked_about_once() {
    let mut settings = asking();
    let questions = resolver(&mut settings);
    let (mut host, mut supervisor) = start(settings);
    // A resolver repeats its query, and asks for several kinds of records.
    for port in [5300, 5300, 5301] {
        query(&mut host, "files.example.", port);
    }
    let (token, subject) = supervisor.asked();
    assert_eq!(subject, "files.example");
    assert!(questions.try_recv().is_err(), "it is not resolved before");
    supervisor.tell(token, Told::Allowed);
    for _ in 0..3 {
        let answer = host.link.await_frame(|frame| {
            let of = |port| read_datagram(frame, AT, port);
            of(5300).or_else(|| of(5301))
        });
        let answer = Message::from_vec(&answer).unwrap();
        assert_eq!(answer.answers[0].data, RData::A(A(ADDRESS)));
    }
    // It can be resolved for a moment.
    let again = ask(&mut host, "files.example.", RecordType::A);
    assert_eq!(again.response_code, ResponseCode::NoError);
    for (name, told, rule) in [
        ("denied.example", Told::Denied, "asked"),
        ("silent.example", Told::Unanswered, "listed"),
    ] {
        query(&mut host, &format!("{name}."), 5300);
        let (token, subject) = supervisor.asked();
        assert_eq!(subject, name);
        supervisor.tell(token, told);
        let answer = answer(&mut host, 5300);
        assert_eq!(answer.response_code, ResponseCode::NXDomain, "{rule}");
    }
    // The user has just denied it.
    let denied = ask(&mut host, "denied.example.", RecordType::A);
    assert_eq!(denied.response_code, ResponseCode::NXDomain);
    let reports = host.end();
    let rules: Vec<_> = reports
        .iter()
        .filter_map(|report| match report {
            NetworkReport::Record(record) => match &record.event {
                NetworkEvent::Dns(query) => Some((query.name.as_str(), query.rule.as_str())),
                _ => None,
            },
            NetworkReport::Totals(_) => None,
        })
        .collect();
    for expected in [
        ("files.example", "asked"),
        ("denied.example", "asked"),
        ("silent.example", "listed"),
    ] {
        assert!(rules.contains(&expected), "{rules:?}");
    }
}

#[test]
fn an_address_waits_for_its_answer_and_some_are_never_asked_about() {
    let (mut host, mut supervisor) = start(asking());
    for never in ["127.0.0.1", "169.254.169.254", "168.63.129.16"] {
        let never = SocketAddrV4::new(never.parse().unwrap(), 80);
        host.link.send(&datagram(5000, never, b"x"));
        assert_eq!(host.link.await_frame(read_control), PROHIBITED, "{never}");
    }
    for packet in [&b"first"[..], b"second"] {
        host.link.send(&datagram(5000, PRIVATE, packet));
    }
    let (token, subject) = supervisor.asked();
    assert_eq!(subject, PRIVATE.to_string());
    supervisor.tell(token, Told::Denied);
    assert_eq!(host.link.await_frame(read_control), PROHIBITED);
    // Without a supervisor there is no question.
    drop(supervisor);
    let other = SocketAddrV4::new(*PRIVATE.ip(), 80);
    host.link.send(&datagram(5000, other, b"x"));
    assert_eq!(host.link.await_frame(read_control), PROHIBITED);
    host.end();
}

#[test]
fn a_private_address_is_shown_whatever_name_leads_to_it() {
    let mut settings = Settings {
        asks: true,
        ..Settings::default()
    };
    let _questions = resolver_to(*PRIVATE.ip(), &mut settings);
    let (mut host, mut supervisor) = start(settings);
    let answer = ask(&mut host, "a.example.", RecordType::A);
    assert_eq!(answer.answers[0].data, RData::A(A(*PRIVATE.ip())));
    host.link.send(&datagram(5000, PRIVATE, b"x"));
    let (token, subject) = supervisor.asked();
    assert_eq!(subject, PRIVATE.to_string());
    supervisor.tell(token, Told::Denied);
    assert_eq!(host.link.await_frame(read_control), PROHIBITED);
    host.end();
}

#[test]
fn a_rule_that_comes_meanwhile_decides() {
    let mut settings = asking();
    let _questions = resolver(&mut settings);
    let (mut host, mut supervisor) = start(settings);
    query(&mut host, "a.example.", 5300);
    let (token, _) = supervisor.asked();
    assert_eq!(
        supervisor.follow(listed(&["a.example".to_owned()]), false),
        None
    );
    supervisor.tell(token, Told::Allowed);
    assert_eq!(answer(&mut host, 5300).response_code, ResponseCode::NoError);
    let mut denies = listed(&[]);
    denies.add_denied("a.example").unwrap();
    assert_eq!(supervisor.follow(denies, false), None);
    // A rule that denies is not asked about, whatever was allowed once.
    let denied = ask(&mut host, "a.example.", RecordType::A);
    assert_eq!(denied.response_code, ResponseCode::NXDomain);
    host.end();
}
