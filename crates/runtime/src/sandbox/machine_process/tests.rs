use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::*;
use crate::sandbox::{Lock, Sandbox, Spec};
use crate::{ConnectError, Home};

/// The environment variable that names the sandbox's directory for the child process.
const DIRECTORY: &str = "MACHINE_PROCESS_DIRECTORY";
const READY: &str = "has the machine\n";

/// Does nothing unless a test starts it as a child.
/// This program is then the VMM process, with another process in its group.
#[test]
fn child_that_has_a_machine() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let files = SandboxPaths {
        directory: PathBuf::from(directory),
    };
    let _lock = Lock::take(&files).expect("a lock file").expect("free");
    let _machine = MachineLock::take(&files).expect("free");
    let mut beside = Command::new("sleep").arg("600").spawn().expect("started");
    // The test harness does not capture what goes directly to this file.
    fs::write("/dev/stdout", READY).expect("said");
    beside.wait().expect("waited for");
}

/// Starts a VMM process, and waits until it has its machine.
fn machine(directory: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "--nocapture"])
        .arg("sandbox::machine_process::tests::child_that_has_a_machine")
        .env(DIRECTORY, directory)
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.ends_with(READY) {
        line.clear();
        assert!(said.read_line(&mut line).expect("read") > 0, "it ended");
    }
    (child, said)
}

fn sandbox(root: &Path) -> Sandbox {
    Sandbox::for_tests(&Home::new(root), Spec::for_tests("a"))
}

#[tokio::test]
async fn the_process_that_has_the_machine_is_killed_with_its_group() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(root.path());
    assert!(matches!(
        sandbox.kill().await,
        Err(ConnectError::NotRunning { .. })
    ));
    let (mut child, mut said) = machine(sandbox.directory());
    let found = sandbox.machine_process_id().expect("asked");
    assert_eq!(found, Some(child.id()));
    sandbox.kill().await.expect("killed");
    let status = child.wait().expect("waited for");
    assert_eq!(status.signal(), Some(9), "{status}");
    // The other process of the group has the pipe open too.
    said.read_to_end(&mut Vec::new()).expect("read");
    assert_eq!(sandbox.machine_process_id().expect("asked"), None);
}

/// Returns the number of times that this thread has gone to sleep.
fn sleeps() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").expect("read");
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count
        .and_then(|count| count.trim().parse().ok())
        .expect("a count")
}

#[tokio::test]
async fn who_waits_for_the_end_of_a_machine_sleeps_until_then() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(root.path());
    let (mut child, _said) = machine(sandbox.directory());
    let waiting = |_| {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { sandbox.wait().await })
    };
    let waiting: Vec<_> = (0..100).map(waiting).collect();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let before = sleeps();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    // A client that looked every 10 ms would have slept 100 times.
    let count = sleeps() - before;
    assert!(count < 20, "it woke up {count} times");
    let found = MachineProcess::find(&sandbox.files).expect("asked");
    found.expect("it runs").kill().expect("killed");
    for waiting in waiting {
        waiting.await.expect("no panic").expect("waited for");
    }
    child.wait().expect("waited for");
}

#[test]
fn a_stopped_process_is_known() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(root.path());
    let (mut child, _said) = machine(sandbox.directory());
    let found = MachineProcess::find(&sandbox.files).expect("asked");
    let found = found.expect("it runs");
    assert!(!found.is_stopped());
    pidfd_send_signal(&found.handle, Signal::STOP).expect("sent");
    // The signal is delivered by the time that the parent sees the stop.
    let pid = Some(found.id);
    let stopped = rustix::process::waitpid(pid, rustix::process::WaitOptions::UNTRACED);
    assert!(
        stopped
            .expect("waited for")
            .is_some_and(|(_, status)| status.stopped())
    );
    assert!(found.is_stopped());
    found.kill().expect("killed");
    child.wait().expect("waited for");
}

#[tokio::test]
async fn a_sandbox_that_is_being_started_is_waited_for_too() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(root.path());
    let starting = sandbox.lock().expect("a lock file").expect("free");
    let waiting = sandbox.wait();
    tokio::pin!(waiting);
    let soon = std::time::Duration::from_millis(100);
    assert!(tokio::time::timeout(soon, &mut waiting).await.is_err());
    drop(starting);
    waiting.await.expect("waited for");
}

#[tokio::test]
async fn a_number_in_a_file_kills_nobody() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(root.path());
    let mut stranger = Command::new("sleep")
        .arg("600")
        .process_group(0)
        .spawn()
        .expect("started");
    // Earlier versions left such a file when a machine had ended.
    let number = stranger.id().to_string();
    fs::write(sandbox.directory().join("vmm.pid"), &number).expect("written");
    fs::write(sandbox.files.machine_lock(), &number).expect("written");
    let starting = sandbox.lock().expect("a lock file").expect("free");
    assert!(matches!(
        sandbox.kill().await,
        Err(ConnectError::Starting { .. })
    ));
    assert!(stranger.try_wait().expect("looked").is_none());
    drop(starting);
    stranger.kill().expect("killed");
    stranger.wait().expect("waited for");
}

#[test]
fn one_process_has_a_machine() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(root.path());
    let (mut child, _said) = machine(sandbox.directory());
    let error = MachineLock::take(&sandbox.files).expect_err("taken");
    assert!(error.to_string().contains("another process"), "{error}");
    let found = MachineProcess::find(&sandbox.files).expect("asked");
    found.expect("it runs").kill().expect("killed");
    child.wait().expect("waited for");
    MachineLock::take(&sandbox.files).expect("free");
}
