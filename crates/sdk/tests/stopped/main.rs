//! Answers of a client about a sandbox that no machine runs, and about images that do not exist.

use std::fs::File;
use std::path::Path;

use msb_sdk::{CommitOptions, DiffOptions, ErrorKind, Face, Force, Msb, QuestionAnswer, Sandbox};
use tempfile::TempDir;

/// Returns a stopped sandbox of the name `web`, in a home of its own.
async fn stopped_sandbox() -> (TempDir, Sandbox) {
    let home = testkit::sandboxes::home_with_stopped_sandbox();
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    let sandbox = msb.sandboxes().get("web").await.expect("found");
    (home, sandbox)
}

#[tokio::test]
async fn a_main_command_of_another_form_is_an_error_and_not_an_empty_one() {
    let (_home, sandbox) = stopped_sandbox().await;
    let mut info = sandbox.inspect().await.expect("inspected");
    assert!(info.main_command().expect("a command").argv.is_empty());
    info.rest["process"]["argv"] = "sh".into();
    info.main_command().expect_err("it is no list");
    info.rest.remove("process");
    info.main_command().expect("it is unknown");
}

#[tokio::test]
async fn limits_and_the_command_are_objects_of_a_description() {
    let (_home, sandbox) = stopped_sandbox().await;
    let rest = sandbox.inspect().await.expect("inspected").rest;
    let limits = serde_json::json!({ "pids": null, "shm_bytes": null, "tmp_bytes": null });
    assert_eq!(rest["limits"], limits);
    assert_eq!(rest["process"]["pid"], "private");
    assert_eq!(rest["process"]["init"], false);
    assert_eq!(rest["sysctls"], serde_json::json!({}));
    assert!(rest["hostname"].is_null() && !rest.contains_key("shm"));
}

#[tokio::test]
async fn what_cannot_be_committed_is_told_first() {
    let (_home, sandbox) = stopped_sandbox().await;
    let pinned = format!("app@sha256:{}", "0".repeat(64));
    for (name, options) in [
        (&*pinned, CommitOptions::default()),
        ("UPPER", CommitOptions::default()),
        ("app", CommitOptions::default().change("RUN make")),
        ("app", CommitOptions::default().source_date_epoch(i64::MAX)),
    ] {
        let error = sandbox.commit(name, options).await.expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

#[tokio::test]
async fn a_name_of_nothing_is_told() {
    let (home, _sandbox) = stopped_sandbox().await;
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    let refused = msb.diff("nothing", "web", DiffOptions::default()).await;
    let error = refused.expect_err("no such name");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "no such sandbox or image: nothing");
}

#[tokio::test]
async fn a_digest_alone_is_not_asked_of_a_registry() {
    let home = tempfile::tempdir().expect("a directory");
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    let digest = format!("sha256:{}", "9e".repeat(32));
    let error = msb
        .images()
        .pull(digest.as_str())
        .await
        .expect_err("no name");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let hint = error.hint().expect("a hint");
    assert!(hint.ends_with(&format!("msb pull NAME@{digest}")), "{hint}");
}

/// Takes the lock of the home's sandbox, as its machine does while it runs.
fn held(home: &Path) -> File {
    let lock = File::open(home.join("sandboxes/0123456789ab/lock")).expect("there");
    lock.try_lock().expect("free");
    lock
}

#[tokio::test]
async fn a_running_sandbox_that_may_not_be_frozen_is_not_compared() {
    let (home, sandbox) = stopped_sandbox().await;
    let lock = held(home.path());
    let refused = sandbox.diff(DiffOptions::default().pause(false)).await;
    let error = refused.expect_err("it is running");
    assert_eq!(error.kind(), ErrorKind::SandboxRunning);
    let hint = error.hint_for(Face::CommandLine).expect("a hint");
    assert!(hint.contains("msb stop web"), "{hint}");
    drop(lock);
}

#[tokio::test]
async fn a_running_sandbox_is_not_removed_and_the_hint_says_how_to_end_it() {
    let (home, sandbox) = stopped_sandbox().await;
    let lock = held(home.path());
    let error = sandbox.remove(Force::No).await.expect_err("it is running");
    assert_eq!(error.kind(), ErrorKind::SandboxRunning);
    let hint = error.hint_for(Face::CommandLine).expect("a hint");
    assert!(hint.contains("msb stop web"), "{hint}");
    let hint = error.hint().expect("a hint");
    assert!(hint.contains("remove(Force::Yes)"), "{hint}");
    drop(lock);
    sandbox.remove(Force::No).await.expect("removed");
}

#[tokio::test]
async fn a_question_of_an_unknown_kind_can_only_be_denied() {
    let (_home, sandbox) = stopped_sandbox().await;
    let question = |kind: &str| {
        let question = serde_json::json!({
            "id": 1, "kind": kind, "subject": "example.test:443", "reason": "", "process": null,
            "uid": null,
        });
        serde_json::from_value::<msb_sdk::Question>(question).expect("a question")
    };
    for (kind, answer, expected) in [
        ("network", QuestionAnswer::allow(), ErrorKind::NotRunning),
        (
            "unknown",
            QuestionAnswer::deny().always(),
            ErrorKind::InvalidArgument,
        ),
        ("network", QuestionAnswer::deny(), ErrorKind::NotRunning),
        ("path", QuestionAnswer::allow(), ErrorKind::NotRunning),
    ] {
        let refused = sandbox.answer(question(kind), answer).await;
        let error = refused.expect_err("it does not run");
        assert_eq!(error.kind(), expected, "{kind}: {error}");
    }
}
