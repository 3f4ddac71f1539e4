use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use msb_secrets::{
    ControlAnswer, ControlClient, ControlRequest, LINE_MAX_BYTES, SecretState, SecretValue,
    ValueState,
};

use crate::edge_parts::Ended;
use crate::guest::TIMEOUT;

fn client(ended: &Ended) -> ControlClient {
    ControlClient::connect(&ended.control, TIMEOUT).unwrap()
}

fn set(name: &str) -> ControlRequest {
    ControlRequest::Set {
        name: name.parse().unwrap(),
        value: SecretValue::new("the value").unwrap(),
        expires_ms: None,
    }
}

fn listed(state: ValueState) -> ControlAnswer {
    let name = "KEY".parse().unwrap();
    ControlAnswer::Secrets(vec![SecretState { name, state }])
}

#[test]
fn values_are_set_listed_and_removed() {
    let ended = Ended::new(None);
    let mut client = client(&ended);
    let remove = ControlRequest::Remove {
        name: "KEY".parse().unwrap(),
    };
    for (request, answer) in [
        (ControlRequest::List, listed(ValueState::Missing)),
        (set("KEY"), ControlAnswer::Done),
        (ControlRequest::List, listed(ValueState::Held)),
        (remove, ControlAnswer::Done),
        (ControlRequest::List, listed(ValueState::Removed)),
    ] {
        assert_eq!(client.send(request).unwrap(), answer);
    }
    // A command that was running meanwhile must not bring a removed secret back.
    for name in ["OTHER", "KEY"] {
        let refused = client.send(set(name)).unwrap();
        let ControlAnswer::Refused { message } = refused else {
            panic!("{refused:?}");
        };
        assert!(message.contains(name), "{message}");
    }
    let listed_last = client.send(ControlRequest::List).unwrap();
    assert_eq!(listed_last, listed(ValueState::Removed));
    ended.host.end();
}

#[test]
fn more_requests_than_a_second_takes_wait() {
    let ended = Ended::new(None);
    let mut client = client(&ended);
    let begun = Instant::now();
    for _ in 0..40 {
        let answer = client.send(ControlRequest::List).unwrap();
        assert_eq!(answer, listed(ValueState::Missing));
    }
    assert!(begun.elapsed() >= Duration::from_secs(1));
    ended.host.end();
}

#[test]
fn a_line_that_is_no_request_is_refused_without_its_text() {
    let ended = Ended::new(None);
    let stream = UnixStream::connect(&ended.control).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    for line in [
        "{}",
        "[",
        "",
        "\u{1b}",
        r#"{"set":{"name":"KEY","value":7654321}}"#,
        r#"{"set":{"name":"KEY","valu":"canary"}}"#,
    ] {
        (&stream).write_all(format!("{line}\n").as_bytes()).unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.contains("refused"), "{line}: {answer}");
        assert!(
            !answer.contains("canary") && !answer.contains("7654321"),
            "{answer}"
        );
    }
    ended.host.end();
}

#[test]
fn a_request_without_end_ends_the_connection() {
    let ended = Ended::new(None);
    let mut stream = UnixStream::connect(&ended.control).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // The write fails if the connection ends first.
    let _ = stream.write_all(&vec![b'x'; 2 * LINE_MAX_BYTES]);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => assert_eq!(answer, b""),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    let answer = client(&ended).send(ControlRequest::List).unwrap();
    assert_eq!(answer, listed(ValueState::Missing));
    ended.host.end();
}

#[test]
fn the_clients_are_bounded_and_one_that_goes_makes_room() {
    let ended = Ended::new(None);
    let mut clients: Vec<_> = (0..4).map(|_| client(&ended)).collect();
    for client in &mut clients {
        client.send(ControlRequest::List).unwrap();
    }
    assert!(client(&ended).send(ControlRequest::List).is_err());
    clients.pop();
    let deadline = Instant::now() + TIMEOUT;
    while client(&ended).send(ControlRequest::List).is_err() {
        assert!(Instant::now() < deadline, "there is no room");
        thread::sleep(Duration::from_millis(5));
    }
    ended.host.end();
}
