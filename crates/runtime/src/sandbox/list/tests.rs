use super::*;
use crate::{ConnectError, RemoveError};

#[test]
fn a_reader_claims_a_sandbox_with_no_other_process_in_between() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
    let reading = || sandbox.read_lock().expect("looked");
    let (one, other) = (reading().expect("free"), reading().expect("free"));
    assert!(sandbox.claim_from(&one).expect("looked").is_none());
    drop((one, other));
    let one = reading().expect("free");
    let claimed = sandbox.claim_from(&one).expect("looked").expect("free");
    // The claim outlives the reader.
    drop(one);
    assert!(reading().is_none() && sandbox.claim().expect("looked").is_none());
    drop(claimed);
    assert!(sandbox.claim().expect("looked").is_some());
}

#[test]
fn ports_that_the_host_chose_are_those_of_a_machine_that_runs() {
    let root = tempfile::tempdir().expect("a directory");
    let mut spec = Spec::for_tests("a");
    let wanted: Vec<Publish> = vec!["80".parse().expect("a port")];
    spec.network = Some(msb_network::Settings {
        publish: wanted.clone(),
        ..msb_network::Settings::default()
    });
    let sandbox = Sandbox::at(&Home::new(root.path()), spec);
    fs::create_dir_all(&sandbox.files.directory).expect("created");
    fs::write(sandbox.files.ports(), r#"["127.0.0.1:32768:80/tcp"]"#).expect("written");
    assert_eq!(sandbox.published().expect("looked"), wanted);
    let held = sandbox.lock().expect("a lock file").expect("free");
    let chosen = sandbox.published().expect("looked");
    assert_eq!(chosen[0].host.port(), 32_768);
    drop(held);
}

#[test]
fn a_directory_without_a_record_is_no_sandbox() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    Sandbox::for_tests(&home, Spec::for_tests("a"));
    let beside = |name: &str| home.sandboxes().join(name);
    fs::create_dir(beside("empty")).expect("made");
    fs::write(beside("file"), "").expect("written");
    let listing = Sandbox::list(&home).expect("listed");
    assert_eq!((listing.sandboxes.len(), listing.unreadable.len()), (1, 0));
}

#[test]
fn a_sandbox_that_somebody_else_removed_is_removed() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
    let held = sandbox.lock().expect("a lock file").expect("free");
    assert!(matches!(
        sandbox.clone().remove(),
        Err(RemoveError::Running { .. })
    ));
    assert_eq!(sandbox.state().expect("looked"), State::Running);
    // A process that removes the sandbox does this first.
    fs::remove_file(sandbox.files.spec()).expect("removed");
    sandbox.clone().remove().expect("as good as removed");
    fs::remove_file(sandbox.files.lock()).expect("removed");
    drop(held);
    assert_eq!(sandbox.state().expect("looked"), State::Created);
    assert!(!sandbox.files.lock().exists());
    sandbox.clone().remove().expect("removed");
    assert!(!sandbox.files.directory.exists());
    sandbox.remove().expect("as good as removed");
}

#[tokio::test]
async fn a_sandbox_that_is_gone_does_not_run() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
    fs::remove_dir_all(&sandbox.files.directory).expect("removed");
    let not_running = |outcome| matches!(outcome, Err(ConnectError::NotRunning { .. }));
    assert!(not_running(sandbox.kill().await));
    let stopped = sandbox.stop(Duration::from_secs(1), None).await;
    assert!(not_running(stopped.map(|_| ())));
    sandbox.wait().await.expect("nothing to wait for");
}
