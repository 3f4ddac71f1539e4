use std::sync::mpsc::Receiver;

use diagnosis::{Diagnose as _, ErrorKind};
use fs_err as fs;
use msb_runtime::network::Settings;
use msb_runtime::{Home, Lock};
use msb_secrets::{ControlAnswer, ControlRequest, SecretState, ValueState};
use tempfile::TempDir;

use super::*;
use crate::network_process::{TEST_TIMEOUT, listen};

/// A sandbox with the secrets `FILED`, whose source is a file, and `GIVEN`.
struct Fixture {
    home: TempDir,
    sandbox: Sandbox,
}

impl Fixture {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join("key"), "first-value\n").expect("written");
        let source = home.path().join("key");
        let filed = format!(
            "name=FILED,to=api.example.com,from=file:{}",
            source.display()
        );
        let mut given: Secret = "GIVEN@api.example.com".parse().expect("a secret");
        given.from = SecretSource::Given;
        let mut spec = testkit::sandboxes::spec("box");
        spec.network = Some(Settings {
            secrets: vec![filed.parse().expect("a secret"), given],
            ..Settings::default()
        });
        let sandbox = testkit::sandboxes::sandbox(&Home::new(home.path()), spec);
        fs::write(sandbox.files.upper(), []).expect("written");
        Self { home, sandbox }
    }

    /// Makes the sandbox one that is running, whose network process answers `answer`.
    fn run(
        &self,
        answer: impl Fn(&ControlRequest) -> ControlAnswer + Send + 'static,
    ) -> (Lock, Receiver<ControlRequest>) {
        let lock = Lock::take(&self.sandbox.files).expect("a lock");
        let requests = listen(&self.sandbox.files.secrets_socket(), answer);
        (lock.expect("nobody holds it"), requests)
    }
}

fn name(text: &str) -> SecretName {
    text.parse().expect("a name")
}

fn kind(error: SecretsError) -> ErrorKind {
    error.diagnosis().kind()
}

#[test]
fn the_secrets_of_a_stopped_sandbox_are_listed_without_states() {
    let fixture = Fixture::new();
    let listed = list(&fixture.sandbox).expect("listed");
    let names: Vec<_> = listed.iter().map(|secret| secret.name.as_str()).collect();
    assert_eq!(names, ["FILED", "GIVEN"]);
    assert!(listed.iter().all(|secret| secret.state.is_none()));
}

#[test]
fn a_stopped_sandbox_takes_another_source_and_no_value() {
    let mut fixture = Fixture::new();
    let value = SecretValue::new("other-value").expect("a value");
    let given = NewValue::Given(value);
    for new in [NewValue::Recorded, given] {
        let refused = set(&mut fixture.sandbox, &name("FILED"), new);
        assert_eq!(refused.map_err(kind), Err(ErrorKind::NotRunning));
    }
    let source = SecretSource::Env("OTHER".to_owned());
    let new = NewValue::From(source.clone());
    set(&mut fixture.sandbox, &name("GIVEN"), new).expect("changed");
    let spec = Spec::read(fixture.sandbox.directory()).expect("readable");
    assert_eq!(recorded(&spec)[1].from, source);
    let refused = set(&mut fixture.sandbox, &name("NONE"), NewValue::Recorded);
    assert_eq!(refused.map_err(kind), Err(ErrorKind::NotFound));
}

#[test]
fn a_running_sandbox_gets_the_value_that_the_source_has_now() {
    let mut fixture = Fixture::new();
    let (_lock, requests) = fixture.run(|_| ControlAnswer::Done);
    fs::write(fixture.home.path().join("key"), "second-value\n").expect("written");
    set(&mut fixture.sandbox, &name("FILED"), NewValue::Recorded).expect("set");
    let value = SecretValue::new("third-value").expect("a value");
    set(&mut fixture.sandbox, &name("GIVEN"), NewValue::Given(value)).expect("set");
    for (secret, text) in [("FILED", "second-value"), ("GIVEN", "third-value")] {
        let request = requests.recv_timeout(TEST_TIMEOUT).expect("a request");
        let expected = ControlRequest::Set {
            name: name(secret),
            value: SecretValue::new(text).expect("a value"),
            expires_ms: None,
        };
        assert_eq!(request, expected);
    }
    let record = fs::read_to_string(fixture.sandbox.files.spec()).expect("readable");
    assert!(!record.contains("second") && !record.contains("third"));
}

#[test]
fn the_source_of_a_secret_that_is_read_again_changes_while_the_sandbox_is_stopped() {
    let mut fixture = Fixture::new();
    let every = |spec: &mut Vec<Secret>| spec[0].every_s = Some(60);
    change(&mut fixture.sandbox, every).expect("changed");
    let (_lock, requests) = fixture.run(|_| ControlAnswer::Done);
    let other = || NewValue::From(SecretSource::Env("OTHER".to_owned()));
    let refused = set(&mut fixture.sandbox, &name("FILED"), other());
    assert_eq!(refused.map_err(kind), Err(ErrorKind::SandboxRunning));
    assert!(requests.try_recv().is_err());
    set(&mut fixture.sandbox, &name("FILED"), NewValue::Recorded).expect("set");
    let request = requests.recv_timeout(TEST_TIMEOUT).expect("a request");
    let expires = |request: &ControlRequest| match request {
        ControlRequest::Set { expires_ms, .. } => *expires_ms,
        _ => None,
    };
    assert_eq!(expires(&request), Some(60_000));
}

#[test]
fn the_secrets_of_a_running_sandbox_have_the_states_of_its_network_process() {
    let fixture = Fixture::new();
    let (_lock, _requests) = fixture.run(|_| {
        ControlAnswer::Secrets(vec![SecretState {
            name: name("GIVEN"),
            state: ValueState::Expired,
        }])
    });
    let states = list(&fixture.sandbox).expect("listed").into_iter();
    let states: Vec<_> = states.map(|secret| secret.state).collect();
    assert_eq!(states, [None, Some(ValueState::Expired)]);
}

#[test]
fn a_removed_secret_is_taken_from_the_network_process_and_the_description() {
    let mut fixture = Fixture::new();
    let (_lock, requests) = fixture.run(|_| ControlAnswer::Done);
    remove(&mut fixture.sandbox, &name("FILED")).expect("removed");
    let request = requests.recv_timeout(TEST_TIMEOUT).expect("a request");
    let expected = ControlRequest::Remove {
        name: name("FILED"),
    };
    assert_eq!(request, expected);
    let spec = Spec::read(fixture.sandbox.directory()).expect("readable");
    assert_eq!(recorded(&spec).len(), 1);
    let again = remove(&mut fixture.sandbox, &name("FILED"));
    assert_eq!(again.map_err(kind), Err(ErrorKind::NotFound));
}

#[test]
fn a_secret_that_the_network_process_refuses_stays() {
    let mut fixture = Fixture::new();
    let (_lock, _requests) = fixture.run(|_| ControlAnswer::Refused {
        message: "no such secret".to_owned(),
    });
    let refused = remove(&mut fixture.sandbox, &name("FILED")).expect_err("refused");
    assert!(refused.to_string().contains("no such secret"), "{refused}");
    let spec = Spec::read(fixture.sandbox.directory()).expect("readable");
    assert_eq!(recorded(&spec).len(), 2);
}
