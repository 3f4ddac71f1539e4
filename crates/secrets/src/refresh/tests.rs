use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;

use super::*;
use crate::control::SecretState;
use crate::test_server::{TEST_TIMEOUT, TestServer, line};

const SECOND: Duration = Duration::from_secs(1);

fn secrets(texts: &[&str]) -> Vec<Secret> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn index_and_wait(schedule: &Schedule<'_>, now: Instant) -> Option<(usize, Duration)> {
    let (index, due) = schedule.next()?;
    Some((index, due.saturating_duration_since(now)))
}

#[test]
fn values_are_read_before_they_expire() {
    let now = Instant::now();
    for (every, expected_s) in [("10s", 9), ("100s", 90), ("5m", 270), ("1h", 3_570)] {
        let text = format!("name=K,to=h.example,from=cmd:true,every={every}");
        let all = secrets(&[&text]);
        let mut schedule = Schedule::new(&all, now);
        let expected = Some((0, Duration::from_secs(expected_s)));
        assert_eq!(index_and_wait(&schedule, now), expected);
        schedule.begin(now);
        schedule.end(0, Outcome::Sent, now);
        assert_eq!(index_and_wait(&schedule, now), expected);
    }
}

#[test]
fn other_secrets_are_never_read() {
    let all = secrets(&[
        "K@h.example",
        "name=L,to=h.example,from=cmd:true",
        "name=M,to=h.example,from=file:/k",
    ]);
    let schedule = Schedule::new(&all, Instant::now());
    assert!(schedule.next().is_none() && schedule.secret(0).is_none());
}

#[test]
fn the_next_read_is_the_one_that_is_due_first_and_one_second_after_the_last() {
    let now = Instant::now();
    let all = secrets(&[
        "name=K,to=h.example,from=cmd:true,every=100s",
        "X@h.example",
        "name=L,to=h.example,from=file:/k,every=10s",
        "name=M,to=h.example,from=cmd:true,every=1s",
    ]);
    let mut schedule = Schedule::new(&all, now);
    assert_eq!(
        schedule.secret(1).map(|secret| secret.name.as_str()),
        Some("L")
    );
    assert_eq!(index_and_wait(&schedule, now), Some((2, SECOND * 9 / 10)));
    schedule.begin(now);
    schedule.end(2, Outcome::Sent, now);
    assert_eq!(index_and_wait(&schedule, now), Some((2, SECOND)));
    schedule.end(2, Outcome::Removed, now);
    assert_eq!(index_and_wait(&schedule, now), Some((1, SECOND * 9)));
    schedule.end(1, Outcome::Removed, now);
    schedule.end(0, Outcome::Removed, now);
    assert_eq!(index_and_wait(&schedule, now), None);
}

#[test]
fn failures_are_repeated_less_and_less_often() {
    let now = Instant::now();
    let all = secrets(&["name=K,to=h.example,from=cmd:true,every=1h"]);
    let mut schedule = Schedule::new(&all, now);
    for expected_s in [1, 2, 4, 8, 16, 32, 60, 60] {
        schedule.begin(now);
        schedule.end(0, Outcome::Failed, now);
        assert_eq!(
            index_and_wait(&schedule, now),
            Some((0, SECOND * expected_s))
        );
    }
    for _ in 0..40 {
        schedule.end(0, Outcome::Failed, now);
    }
    assert_eq!(index_and_wait(&schedule, now), Some((0, SECOND * 60)));
    schedule.end(0, Outcome::Sent, now);
    schedule.end(0, Outcome::Failed, now);
    assert_eq!(index_and_wait(&schedule, now), Some((0, SECOND)));
}

fn states(state: ValueState) -> Vec<u8> {
    let name = "K".parse().unwrap();
    line(&ControlAnswer::Secrets(vec![SecretState { name, state }]))
}

/// Runs the loop beside the test, and returns its result and the number of failures.
fn run(
    secrets: Vec<Secret>,
    path: PathBuf,
) -> thread::JoinHandle<(Result<(), ControlError>, usize)> {
    thread::spawn(move || {
        let mut failures = 0;
        let result = refresh(&secrets, &path, &mut |_| failures += 1);
        (result, failures)
    })
}

#[test]
fn each_new_value_is_sent_until_the_connection_closes() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    let command = format!(
        "name=K,to=h.example,every=1s,from=cmd:echo x >> {0}; printf 'number=%d' $(wc -l < {0})",
        count.display()
    );
    let mut left = 4;
    let server = TestServer::start(move |request| {
        left -= 1;
        match request {
            ControlRequest::List => states(ValueState::Expired),
            _ if left > 0 => line(&ControlAnswer::Done),
            _ => Vec::new(),
        }
    });
    let running = run(secrets(&[&command]), server.path.clone());
    for expected in ["number=1", "number=2"] {
        let list = server.requests.recv_timeout(TEST_TIMEOUT);
        assert_eq!(list, Ok(ControlRequest::List));
        let set = server.requests.recv_timeout(TEST_TIMEOUT).unwrap();
        let ControlRequest::Set {
            name,
            value,
            expires_ms,
        } = set
        else {
            panic!("{set:?}");
        };
        assert_eq!((name.as_str(), value.expose().trim()), ("K", expected));
        assert_eq!(expires_ms, Some(1_000));
    }
    let (result, failures) = running.join().unwrap();
    assert!(
        result.is_ok() && failures == 0,
        "{result:?}, {failures} failures"
    );
}

#[test]
fn a_failing_command_sends_nothing_and_is_run_again() {
    let mut lists = 0;
    let server = TestServer::start(move |request| {
        assert_eq!(*request, ControlRequest::List);
        lists += 1;
        states(if lists < 3 {
            ValueState::Held
        } else {
            ValueState::Removed
        })
    });
    let failing = secrets(&["name=K,to=h.example,every=1s,from=cmd:echo hunter22; false"]);
    let (result, failures) = run(failing, server.path.clone()).join().unwrap();
    assert!(
        result.is_ok() && failures == 2,
        "{result:?}, {failures} failures"
    );
}

#[test]
fn a_removed_value_does_not_come_back() {
    let server = TestServer::start(|_| states(ValueState::Removed));
    let directory = tempfile::tempdir().unwrap();
    let touched = directory.path().join("touched");
    let command = format!(
        "name=K,to=h.example,every=1s,from=cmd:touch {}",
        touched.display()
    );
    let (result, _) = run(secrets(&[&command]), server.path.clone())
        .join()
        .unwrap();
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(
        server.requests.recv_timeout(TEST_TIMEOUT),
        Ok(ControlRequest::List)
    );
    assert_eq!(
        server.requests.recv_timeout(TEST_TIMEOUT),
        Err(RecvTimeoutError::Disconnected)
    );
    assert!(!touched.exists());
}

#[test]
fn a_secret_that_is_removed_while_its_command_runs_is_not_read_again() {
    let mut is_removed = false;
    let server = TestServer::start(move |request| match request {
        ControlRequest::List if is_removed => states(ValueState::Removed),
        ControlRequest::List => states(ValueState::Held),
        _ => {
            is_removed = true;
            let message = "secret K was removed from the sandbox".to_owned();
            line(&ControlAnswer::Refused { message })
        }
    });
    let all = secrets(&["name=K,to=h.example,every=1s,from=cmd:echo hunter22"]);
    let (result, failures) = run(all, server.path.clone()).join().unwrap();
    assert!(result.is_ok() && failures == 0, "{result:?}");
    let requests: Vec<_> = server.requests.iter().collect();
    let [
        ControlRequest::List,
        ControlRequest::Set { .. },
        ControlRequest::List,
    ] = &requests[..]
    else {
        panic!("{requests:?}");
    };
}

#[test]
fn a_connection_that_closes_ends_the_wait() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secrets.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let running = run(
        secrets(&["name=K,to=h.example,every=31d,from=cmd:true"]),
        path,
    );
    drop(listener.accept().unwrap());
    let (result, failures) = running.join().unwrap();
    assert!(result.is_ok() && failures == 0, "{result:?}");
}

#[test]
fn a_server_that_answers_wrongly_is_an_error() {
    let server = TestServer::start(|_| line(&ControlAnswer::Done));
    let all = secrets(&["name=K,to=h.example,every=1s,from=cmd:echo 12345678"]);
    let (result, _) = run(all, server.path.clone()).join().unwrap();
    assert!(matches!(result, Err(ControlError::Answer)), "{result:?}");
}

#[test]
fn a_missing_socket_is_an_error() {
    let nothing = refresh(&[], Path::new("/nonexistent/secrets.sock"), &mut |_| {});
    assert!(
        matches!(nothing, Err(ControlError::Connect(_))),
        "{nothing:?}"
    );
}
