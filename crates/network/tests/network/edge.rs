use std::io::{Read as _, Write as _};
use std::net::Shutdown;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;
use msb_network::{
    EdgeEvent, FlowEnd, HttpRecord, HttpVerdict, Network, ProxyVariables, ServeError, Settings,
    Verdict,
};
use msb_secrets::{ControlAnswer, ControlClient, ControlRequest, Secret, SecretName, SecretValue};

use crate::edge_parts::{Ended, HOST, HostStream, exchange, exchange_all, read_head};
use crate::guest::{Guest, Reports, TIMEOUT, datagram, read_control};
use crate::names::ask;
use crate::reported::{Reported, settle};

const VALUE: &str = "the-value-that-no-guest-has";

fn set_value(ended: &Ended) {
    let mut client = ControlClient::connect(&ended.control, TIMEOUT).unwrap();
    let request = ControlRequest::Set {
        name: "KEY".parse().unwrap(),
        value: SecretValue::new(VALUE).unwrap(),
        expires_ms: None,
    };
    assert_eq!(client.send(request).unwrap(), ControlAnswer::Done);
}

/// Closes the guest's connection, and waits until its end is reported.
fn close(guest: &mut Guest<'_>, reports: &Reports) {
    guest.drive("the end", |socket| {
        if socket.can_recv() {
            socket.recv(|bytes| (bytes.len(), ())).unwrap();
        }
        socket.close();
        reports.of_end()
    });
}

fn http(reported: &Reported) -> Vec<&HttpRecord> {
    let events = reported.tls().into_iter();
    let records = events.filter_map(|tls| match &tls.event {
        EdgeEvent::Http(record) => Some(record),
        _ => None,
    });
    records.collect()
}

#[test]
fn a_placeholder_becomes_the_value_on_the_way_to_its_host() {
    let mut ended = Ended::new(None);
    set_value(&ended);
    ask(&mut ended.host, "api.test.", RecordType::A);
    let mut tls = ended.client();
    let reports = ended.host.reports.clone();
    let mut guest = Guest::new(&mut ended.host.link);
    guest.connect(ended.at);
    let request = format!(
        "GET /v1/models?page=2 HTTP/1.1\r\nhost: {HOST}:{}\r\nauthorization: Bearer {}\r\n\r\n",
        ended.at.port(),
        ended.placeholder
    );
    let answer = exchange(&mut guest, &mut tls, &request, |answer| {
        answer.ends_with("ok")
    });
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let head = ended.requests.recv_timeout(TIMEOUT).unwrap();
    let header = format!("authorization: Bearer {VALUE}\r\n");
    assert!(
        head.contains(&header) && !head.contains(&ended.placeholder),
        "{head}"
    );
    close(&mut guest, &reports);
    let reported = Reported::of(ended.host);
    let connects = reported.connects();
    assert_eq!((connects.len(), connects[0].flow), (1, Some(1)));
    assert_eq!(connects[0].name.as_deref(), Some(HOST));
    let hello = EdgeEvent::Hello {
        sni: HOST.to_owned(),
        ended: true,
    };
    assert!(reported.tls().iter().all(|tls| tls.flow == 1));
    assert_eq!(reported.tls()[0].event, hello);
    let [record] = http(&reported)[..] else {
        panic!("{:?}", reported.events);
    };
    assert_eq!((record.method.as_str(), record.status), ("GET", Some(200)));
    assert_eq!((record.path.as_str(), record.query), ("/v1/models", true));
    let key: SecretName = "KEY".parse().unwrap();
    assert_eq!(record.secrets, [key]);
    assert_eq!(record.verdict, HttpVerdict::Allowed);
    assert_eq!(reported.closes().len(), 1);
    let log = format!("{:?}", reported.events);
    assert!(!log.contains(VALUE) && !log.contains("page"), "{log}");
}

#[test]
fn a_request_that_no_rule_allows_is_answered_and_not_sent() {
    let mut ended = Ended::new(Some("/v1/*:GET"));
    ask(&mut ended.host, "api.test.", RecordType::A);
    let mut tls = ended.client();
    let reports = ended.host.reports.clone();
    let mut guest = Guest::new(&mut ended.host.link);
    guest.connect(ended.at);
    let port = ended.at.port();
    let request = format!("GET /admin HTTP/1.1\r\nhost: {HOST}:{port}\r\n\r\n");
    let answer = exchange(&mut guest, &mut tls, &request, |answer| {
        answer.contains("\r\n\r\n")
    });
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    close(&mut guest, &reports);
    let reported = Reported::of(ended.host);
    let [record] = http(&reported)[..] else {
        panic!("{:?}", reported.events);
    };
    assert_eq!(record.verdict, HttpVerdict::Denied);
    assert!(ended.requests.try_recv().is_err());
}

#[test]
fn what_is_no_tls_for_an_ended_name_is_passed_on_where_the_address_is_allowed() {
    let mut ended = Ended::new(None);
    ask(&mut ended.host, "api.test.", RecordType::A);
    let reports = ended.host.reports.clone();
    let mut guest = Guest::new(&mut ended.host.link);
    guest.connect(ended.at);
    // The host answers what is no TLS with an alert, so it got it.
    let mut is_sent = false;
    let alert = guest.drive("an alert", |socket| {
        if socket.can_send() && !is_sent {
            socket.send_slice(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            is_sent = true;
        }
        let received = socket.can_recv().then(|| {
            socket
                .recv(|bytes: &mut [u8]| (bytes.len(), bytes.to_vec()))
                .unwrap()
        });
        received.filter(|bytes| !bytes.is_empty())
    });
    assert_eq!(alert[0], 21, "{alert:?}");
    close(&mut guest, &reports);
    let reported = Reported::of(ended.host);
    assert_eq!((reported.closes().len(), http(&reported).len()), (1, 0));
}

#[test]
fn no_quic_goes_past_the_end_of_tls() {
    let mut ended = Ended::new(None);
    ask(&mut ended.host, "api.test.", RecordType::A);
    ended.host.link.send(&datagram(5000, ended.at, b"quic"));
    let control = ended.host.link.await_frame(read_control);
    assert_eq!(control, (3, 13));
    let reported = Reported::of(ended.host);
    let refused = reported.connects()[0];
    assert_eq!(refused.rule, "quic-of-secret");
    assert_eq!((refused.verdict, &refused.hint), (Verdict::Denied, &None));
}

#[test]
fn records_that_lead_past_the_end_of_tls_are_empty() {
    let mut ended = Ended::new(None);
    for (name, kind) in [
        ("api.test.", RecordType::HTTPS),
        ("API.test.", RecordType::SVCB),
        ("_8443._https.api.test.", RecordType::HTTPS),
    ] {
        let answer = ask(&mut ended.host, name, kind);
        assert_eq!(answer.response_code, ResponseCode::NoError, "{name}");
        assert!(answer.answers.is_empty(), "{name}");
    }
    assert!(ended.questions.try_recv().is_err());
    ask(&mut ended.host, "other.test.", RecordType::HTTPS);
    let question = ended.questions.recv_timeout(TIMEOUT).unwrap();
    assert!(question.starts_with("other.test. "), "{question}");
    ended.host.end();
}

#[test]
fn a_network_without_an_edge_takes_no_secret() {
    let to = vec![HOST.parse().unwrap()];
    let settings = Settings {
        secrets: vec![Secret::new("KEY".parse().unwrap(), to)],
        ..Settings::default()
    };
    let error = Network::bind(&settings, None, &ProxyVariables::default()).unwrap_err();
    assert!(matches!(error, ServeError::NoEdge), "{error}");
}

#[test]
fn names_that_are_not_ended_close_no_address() {
    let mut ended = Ended::new(None);
    ask(&mut ended.host, "other.test.", RecordType::A);
    ended.host.link.send(&datagram(5000, ended.at, b"other"));
    settle(&mut ended.host);
    let reported = Reported::of(ended.host);
    let connect = reported.connects()[0];
    assert_eq!((connect.verdict, connect.flow), (Verdict::Allowed, Some(1)));
}

/// Sends a request to a host that answers in its own way. Returns the answer, true if the guest's connection ended in
/// an orderly way, and the end of the flow.
fn ended_by(answer: fn(HostStream) -> Option<String>, body: &str) -> (String, bool, FlowEnd) {
    let mut ended = Ended::answering(None, answer);
    ask(&mut ended.host, "api.test.", RecordType::A);
    let mut tls = ended.client();
    let reports = ended.host.reports.clone();
    let mut guest = Guest::new(&mut ended.host.link);
    guest.connect(ended.at);
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {HOST}:{}\r\ncontent-length: {}\r\n\r\n{body}",
        ended.at.port(),
        body.len()
    );
    let (answer, is_orderly) = exchange_all(&mut guest, &mut tls, &request);
    close(&mut guest, &reports);
    let reported = Reported::of(ended.host);
    (answer, is_orderly, reported.closes()[0].end)
}

#[test]
fn an_answer_that_the_host_breaks_off_is_a_reset() {
    let (answer, is_orderly, end) = ended_by(
        |mut stream| {
            let head = read_head(&mut stream)?;
            let begin = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n";
            stream.write_all(begin).unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
            Some(head)
        },
        "",
    );
    assert!(!is_orderly, "{answer}");
    assert_eq!(end, FlowEnd::PeerReset);
}

#[test]
fn an_answer_before_the_end_of_the_request_is_whole() {
    let (answer, is_orderly, _) = ended_by(
        |mut stream| {
            let head = read_head(&mut stream)?;
            let answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\nconnection: close\r\n\r\ntoo large";
            stream.write_all(answer).unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
            // A host that closes with bytes unread resets the connection.
            stream.sock.shutdown(Shutdown::Write).unwrap();
            while matches!(stream.sock.read(&mut [0; 4096]), Ok(1..)) {}
            Some(head)
        },
        &"x".repeat(1 << 20),
    );
    assert!(
        answer.starts_with("HTTP/1.1 413") && answer.ends_with("too large"),
        "{answer}"
    );
    assert!(is_orderly, "{answer}");
}
