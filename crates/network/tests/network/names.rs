use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::mpsc;
use std::thread;

use hickory_proto::op::{Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use msb_network::{DefaultPolicy, GATEWAY_ADDRESS, Settings};

use crate::guest::{Host, datagram, read_datagram};

pub(crate) const AT: SocketAddrV4 = SocketAddrV4::new(GATEWAY_ADDRESS, 53);
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// Starts a resolver that resolves every name to [`ADDRESS`]. It reports each query's name and size
/// in bytes.
pub(crate) fn resolver(settings: &mut Settings) -> mpsc::Receiver<String> {
    resolver_to(ADDRESS, settings)
}

/// Starts a resolver that resolves every name to one address.
pub(crate) fn resolver_to(address: Ipv4Addr, settings: &mut Settings) -> mpsc::Receiver<String> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    settings.resolvers = vec![socket.local_addr().unwrap()];
    let (asked, questions) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            let question = Message::from_vec(&buffer[..length]).unwrap();
            let name = question.queries[0].name().clone();
            let mut answer = Message::response(question.id, OpCode::Query);
            answer.add_queries(question.queries.iter().cloned());
            answer.add_answer(Record::from_rdata(name.clone(), 60, RData::A(A(address))));
            // A forged answer comes first.
            let mut guess = answer.to_vec().unwrap();
            guess[0] ^= 0xff;
            socket.send_to(&guess, client).unwrap();
            socket.send_to(&answer.to_vec().unwrap(), client).unwrap();
            if asked.send(format!("{name} {length}")).is_err() {
                return;
            }
        }
    });
    questions
}

pub(crate) fn ask(host: &mut Host, name: &str, kind: RecordType) -> Message {
    let mut question = Message::query();
    question.metadata.id = 77;
    question.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    host.link
        .send(&datagram(5300, AT, &question.to_vec().unwrap()));
    let answer = host
        .link
        .await_frame(|frame| read_datagram(frame, AT, 5300));
    let answer = Message::from_vec(&answer).unwrap();
    assert_eq!(answer.id, 77);
    answer
}

#[test]
fn names_are_answered_by_the_resolver() {
    let mut settings = Settings::default();
    let questions = resolver(&mut settings);
    let mut host = Host::new(settings);
    let answer = ask(&mut host, "example.com.", RecordType::A);
    assert_eq!(answer.answers[0].data, RData::A(A(ADDRESS)));
    assert_eq!(questions.recv().unwrap(), "example.com. 29");
    let answer = ask(&mut host, "example.com.", RecordType::AAAA);
    assert_eq!(answer.response_code, ResponseCode::NoError);
    assert!(answer.answers.is_empty() && questions.try_recv().is_err());
    host.end();
}

#[test]
fn a_denied_name_is_not_asked_for() {
    let mut settings = Settings {
        deny: vec!["*.evil.example".parse().unwrap()],
        ..Settings::default()
    };
    let questions = resolver(&mut settings);
    let mut host = Host::new(settings);
    let answer = ask(&mut host, "www.EVIL.example.", RecordType::A);
    assert_eq!(answer.response_code, ResponseCode::NXDomain);
    assert!(questions.try_recv().is_err());
    let answer = ask(&mut host, "good.example.", RecordType::A);
    assert_eq!(answer.answers.len(), 1);
    host.end();
}

#[test]
fn a_resolver_that_is_silent_is_a_failure() {
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let settings = Settings {
        resolvers: vec![silent.local_addr().unwrap()],
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    let answer = ask(&mut host, "example.com.", RecordType::A);
    assert_eq!(answer.response_code, ResponseCode::ServFail);
    host.end();
}

#[test]
fn a_question_is_passed_on_by_its_name_and_type_alone() {
    let mut settings = Settings {
        reach: DefaultPolicy::Listed,
        allow: vec!["*.allowed.test".parse().unwrap()],
        ..Settings::default()
    };
    let questions = resolver(&mut settings);
    let mut host = Host::new(settings);
    let mut send = |labels: &[&[u8]], class: DNSClass, behind: &[u8]| {
        let mut question = Message::query();
        let name = Name::from_labels(labels.iter().copied()).unwrap();
        let mut query = Query::query(name, RecordType::A);
        query.set_query_class(class);
        question.add_query(query);
        let bytes = [&question.to_vec().unwrap(), behind].concat();
        host.link.send(&datagram(5300, AT, &bytes));
        let answer = host
            .link
            .await_frame(|frame| read_datagram(frame, AT, 5300));
        Message::from_vec(&answer).unwrap().response_code
    };
    // In text the labels read as a name below the allowed one, but they belong to the parent zone.
    let parent: &[&[u8]] = &[b"x.allowed", b"test"];
    assert_eq!(send(parent, DNSClass::IN, b""), ResponseCode::Refused);
    let below: &[&[u8]] = &[b"x", b"allowed", b"test"];
    assert_eq!(send(below, DNSClass::CH, b""), ResponseCode::Refused);
    assert!(questions.try_recv().is_err());
    assert_eq!(send(below, DNSClass::IN, &[7; 300]), ResponseCode::NoError);
    // The resolver saw none of the bytes behind the query.
    assert_eq!(questions.recv().unwrap(), "x.allowed.test. 32");
    host.end();
}
