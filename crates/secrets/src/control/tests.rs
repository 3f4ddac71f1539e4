use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use diagnosis::{Diagnose as _, ErrorKind};
use proptest::prelude::*;

use super::*;
use crate::test_server::{TEST_TIMEOUT, TestServer, line};
use crate::value::{SecretValue, VALUE_MAX_BYTES};

fn set(value: &str, expires_ms: Option<u64>) -> ControlRequest {
    ControlRequest::Set {
        name: "K".parse().unwrap(),
        value: SecretValue::new(value).unwrap(),
        expires_ms,
    }
}

#[test]
fn requests_are_lines_of_json() {
    let remove = ControlRequest::Remove {
        name: "K".parse().unwrap(),
    };
    for (request, expected) in [
        (
            set("hunter22", None),
            "{\"set\":{\"name\":\"K\",\"value\":\"hunter22\"}}\n",
        ),
        (
            set("1234567\"\\", Some(5)),
            "{\"set\":{\"name\":\"K\",\"value\":\"1234567\\\"\\\\\",\"expires_ms\":5}}\n",
        ),
        (remove, "{\"remove\":{\"name\":\"K\"}}\n"),
        (ControlRequest::List, "\"list\"\n"),
    ] {
        let written = request.line().unwrap();
        assert_eq!(std::str::from_utf8(&written).unwrap(), expected);
        let read = ControlRequest::parse(expected.trim_end().as_bytes()).unwrap();
        assert_eq!(read, request);
    }
}

#[test]
fn the_longest_request_does_not_move_in_memory() {
    let request = set(&"\"".repeat(VALUE_MAX_BYTES), Some(u64::MAX));
    let written = request.line().unwrap();
    assert!(written.len() > 2 * VALUE_MAX_BYTES && written.len() <= LINE_MAX_BYTES);
    assert_eq!(
        written.capacity(),
        set("shortest", None).line().unwrap().capacity()
    );
}

#[test]
fn other_lines_are_no_requests() {
    for line in [
        "",
        "{}",
        "[]",
        "\"set\"",
        "\"lists\"",
        "{\"set\":{\"name\":\"K\"}}",
        "{\"set\":{\"value\":\"hunter22\"}}",
        "{\"set\":{\"name\":\"K\",\"value\":\"hunter22\",\"more\":1}}",
        "{\"set\":{\"name\":\"K\",\"value\":\"hunter22\",\"expires_ms\":-1}}",
        "{\"set\":{\"name\":\"a-b\",\"value\":\"hunter22\"}}",
        "{\"set\":{\"name\":\"K\",\"value\":\"hunter22\"}} \"list\"",
        "\"list\"\n\"list\"",
    ] {
        let error = ControlRequest::parse(line.as_bytes()).expect_err(line);
        assert!(!error.to_string().contains("hunter22"), "{error}");
    }
    ControlRequest::parse(b"\xff").unwrap_err();
}

#[test]
fn answers_are_lines_of_json() {
    let states = [
        ValueState::Held,
        ValueState::Missing,
        ValueState::Expired,
        ValueState::Removed,
    ];
    for state in states {
        assert_eq!(
            serde_json::to_string(&state).unwrap(),
            format!("\"{state}\"")
        );
    }
    let held = SecretState {
        name: "K".parse().unwrap(),
        state: ValueState::Held,
    };
    let refused = ControlAnswer::Refused {
        message: "a\nb".to_owned(),
    };
    for (answer, expected) in [
        (ControlAnswer::Done, "\"done\"\n"),
        (refused, "{\"refused\":{\"message\":\"a\\nb\"}}\n"),
        (
            ControlAnswer::Secrets(vec![held]),
            "{\"secrets\":[{\"name\":\"K\",\"state\":\"held\"}]}\n",
        ),
    ] {
        assert_eq!(line(&answer), expected.as_bytes());
        assert_eq!(
            serde_json::from_str::<ControlAnswer>(expected).unwrap(),
            answer
        );
    }
}

#[test]
fn a_client_sends_requests_and_receives_answers() {
    let server = TestServer::start(|request| match request {
        ControlRequest::List => line(&ControlAnswer::Secrets(Vec::new())),
        _ => line(&ControlAnswer::Done),
    });
    let mut client = ControlClient::connect(&server.path, TEST_TIMEOUT).unwrap();
    let longest = set(&"\"".repeat(VALUE_MAX_BYTES), Some(1));
    for request in [set("hunter22", None), longest] {
        assert_eq!(client.send(request.clone()).unwrap(), ControlAnswer::Done);
        assert_eq!(server.requests.recv_timeout(TEST_TIMEOUT), Ok(request));
    }
    let states = client.send(ControlRequest::List).unwrap();
    assert_eq!(states, ControlAnswer::Secrets(Vec::new()));
    assert!(!format!("{client:?}").contains("hunter22"));
}

/// Returns the error of a request that a server answers with these bytes.
fn error_of(answer: Vec<u8>, timeout: Duration) -> ControlError {
    let server = TestServer::start(move |_| answer.clone());
    let mut client = ControlClient::connect(&server.path, timeout).unwrap();
    client.send(ControlRequest::List).unwrap_err()
}

#[test]
fn answers_that_are_none_are_errors() {
    for bytes in [
        "\n",
        "x\n",
        "{\"refused\":{}}\n",
        "\"done\"\n\"done\"\n",
        "\"done\"\n \n",
    ] {
        let error = error_of(bytes.into(), TEST_TIMEOUT);
        assert!(matches!(error, ControlError::Answer), "{bytes:?}: {error}");
        assert_eq!(error.diagnosis().kind(), ErrorKind::VersionMismatch);
    }
    let long = error_of(vec![b' '; LINE_MAX_BYTES + 1], TEST_TIMEOUT);
    assert!(matches!(long, ControlError::TooLong), "{long}");
    let closed = error_of(Vec::new(), TEST_TIMEOUT);
    assert!(matches!(closed, ControlError::Closed), "{closed}");
    assert_eq!(closed.diagnosis().kind(), ErrorKind::SandboxEnded);
}

#[test]
fn an_answer_that_does_not_end_is_an_error_in_time() {
    let error = error_of(b"\"done\"".to_vec(), Duration::from_millis(100));
    // On a slow host the time is over before the request is sent.
    let (ControlError::Receive(source) | ControlError::Send(source)) = &error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::TimedOut);
}

#[test]
fn a_socket_without_a_listener_is_an_error_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secrets.sock");
    let connect = || {
        let error = ControlClient::connect(&path, Duration::from_secs(3_600)).unwrap_err();
        assert!(matches!(error, ControlError::Connect(_)), "{error}");
        assert_eq!(error.diagnosis().kind(), ErrorKind::NotRunning);
    };
    connect();
    drop(UnixListener::bind(&path).unwrap());
    connect();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    connect();
}

#[test]
fn paths_of_any_length_work() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("d".repeat(200));
    fs::create_dir(&deep).unwrap();
    let short = directory.path().join("s");
    let listener = UnixListener::bind(&short).unwrap();
    let long = deep.join("secrets.sock");
    fs::rename(&short, &long).unwrap();
    ControlClient::connect(&long, TEST_TIMEOUT).unwrap();
    listener.accept().unwrap();
}

#[test]
fn a_full_queue_is_waited_for_until_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secrets.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // The queue of the standard library is as long as the host allows.
    rustix::net::listen(&listener, 1).unwrap();
    let mut waiting: Vec<UnixStream> = Vec::new();
    let error = loop {
        let deadline = Instant::now() + Duration::from_millis(100);
        match connect::connect_until(&path, deadline) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
        assert!(waiting.len() < 100, "the queue has no end");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[test]
fn both_ends_of_a_connection_of_this_user_are_its_own() {
    let (one, other) = UnixStream::pair().unwrap();
    assert!(is_own_peer(&one).unwrap() && is_own_peer(&other).unwrap());
    let file = tempfile::tempfile().unwrap();
    is_own_peer(&file).unwrap_err();
}

proptest! {
    #[test]
    fn every_value_arrives(value in "[!-~é][ -~é]{6,60}[!-~é]", expires_ms in any::<Option<u64>>()) {
        let request = set(&value, expires_ms);
        let written = request.line().unwrap();
        prop_assert_eq!(written.iter().filter(|byte| **byte == b'\n').count(), 1);
        let read = ControlRequest::parse(written.strip_suffix(b"\n").unwrap()).unwrap();
        prop_assert_eq!(read, request);
    }

    #[test]
    fn no_line_panics(line in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = ControlRequest::parse(&line);
        let _ = serde_json::from_slice::<ControlAnswer>(&line);
    }
}
