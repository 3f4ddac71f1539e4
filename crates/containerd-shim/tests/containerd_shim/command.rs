//! The program of a shim, started as containerd starts it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use containerd_protocol::Message as _;
use containerd_protocol::bootstrap::{
    ALLOWED_MOUNTS, BootstrapParams, BootstrapResult, RuntimeInfo,
};
use containerd_protocol::mount::MountCapabilities;
use containerd_protocol::task::{ConnectRequest, ConnectResponse, DeleteResponse, SERVICE_V2};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

use crate::containerd::Containerd;
use crate::harness::{LIMIT, Tasks, create_request};

/// A directory of bundles, with a socket directory for the shims in it.
struct Node {
    directory: TempDir,
}

impl Node {
    fn new() -> Self {
        let directory = TempDir::new().expect("there is room");
        Self { directory }
    }

    fn bundle(&self, id: &str, sandbox: Option<&str>) -> PathBuf {
        let annotations = sandbox.map_or("{}".to_owned(), |sandbox| {
            let kind = if id == sandbox { "sandbox" } else { "container" };
            format!(r#"{{"io.kubernetes.cri.container-type": "{kind}", "io.kubernetes.cri.sandbox-id": "{sandbox}"}}"#)
        });
        create_request(self.directory.path(), id, "sleep", &annotations)
            .bundle
            .into()
    }

    fn params(&self, id: &str) -> Vec<u8> {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let params = BootstrapParams {
            instance_id: id.into(),
            namespace: "tests".into(),
            containerd_ttrpc_address: path("events.sock"),
            socket_dir: path("s"),
            ..BootstrapParams::default()
        };
        params.encode_to_vec()
    }

    /// Runs a command of the shim in a bundle.
    fn run(&self, bundle: &Path, id: &str, action: &str, input: &[u8]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-shim"));
        command
            .current_dir(bundle)
            .args(["-namespace", "tests", "-id", id]);
        command
            .arg("-address")
            .arg(self.directory.path().join("c.sock"));
        command.args(["-publish-binary", "/nonexistent", action]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it was built");
        // A command that does not read its input may have ended.
        let _ = child.stdin.take().expect("it is piped").write_all(input);
        child.wait_with_output().expect("it ends")
    }

    /// Starts a shim, and returns the path of its socket.
    fn start(&self, bundle: &Path, id: &str) -> PathBuf {
        let output = self.run(bundle, id, "start", &self.params(id));
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        let result = BootstrapResult::decode(&*output.stdout).expect("it is a message");
        assert_eq!((result.version, result.protocol.as_str()), (3, "ttrpc"));
        let mounts = result
            .extensions
            .first()
            .and_then(|extension| extension.value.as_ref());
        let mounts = mounts
            .expect("it has one")
            .unpack::<MountCapabilities>()
            .expect("it has this type");
        assert_eq!(mounts.expect("it can be read").types, ["erofs"]);
        let address = fs::read_to_string(bundle.join("address")).expect("it was written");
        assert_eq!(address, result.address);
        address
            .strip_prefix("unix://")
            .expect("it is a path")
            .into()
    }

    fn delete(&self, bundle: &Path, id: &str) {
        let output = self.run(bundle, id, "delete", b"");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        let response = DeleteResponse::decode(&*output.stdout).expect("it is a message");
        assert_eq!(response.exit_status, 137);
        assert!(response.exited_at.is_some());
    }
}

async fn shim_pid(tasks: &Tasks) -> Pid {
    let request = ConnectRequest { id: "any".into() };
    let answer: ConnectResponse = tasks.call("Connect", &request).await.expect("it answers");
    Pid::from_raw(answer.shim_pid.try_into().expect("it is a pid")).expect("it is not 0")
}

async fn wait_until_gone(pid: Pid) {
    let gone = async {
        // A zombie of this test's process cannot be: the shim's parent has ended.
        while test_kill_process(pid).is_ok() && !is_zombie(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, gone)
        .await
        .expect("the shim ends");
}

/// Returns true if a process has ended, and waits for a parent that does not collect it.
fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[tokio::test]
async fn a_pod_has_one_shim_that_ends_when_it_is_shut_down() {
    let node = Node::new();
    let containerd = Containerd::start(node.directory.path());
    let (sandbox, member) = (node.bundle("s", Some("s")), node.bundle("a", Some("s")));
    let socket = node.start(&sandbox, "s");
    assert_eq!(node.start(&member, "a"), socket);
    let alone = node.bundle("x", None);
    let other_socket = node.start(&alone, "x");
    assert_ne!(other_socket, socket);
    kill_process(
        shim_pid(&Tasks::connect(&other_socket, SERVICE_V2).await).await,
        Signal::KILL,
    )
    .expect("it runs");

    let tasks = Tasks::connect(&socket, SERVICE_V2).await;
    let pid = shim_pid(&tasks).await;
    for (id, words) in [("s", "pause"), ("a", "exit 3")] {
        let annotations = format!(
            r#"{{"io.kubernetes.cri.container-type": "{}", "io.kubernetes.cri.sandbox-id": "s"}}"#,
            if id == "s" { "sandbox" } else { "container" }
        );
        let request = create_request(node.directory.path(), id, words, &annotations);
        tasks.create(&request).await.expect("it is created");
        tasks.start(id, "").await.expect("it is started");
    }
    assert_eq!(tasks.wait("a", "").await, Ok(3));
    tasks.delete("a", "").await.expect("it has ended");
    tasks.shut_down().await;
    tasks.kill("s", "", 9).await.expect("it runs");
    assert_eq!(tasks.wait("s", "").await, Ok(137));
    tasks.delete("s", "").await.expect("it has ended");
    tasks.shut_down().await;
    drop(tasks);
    wait_until_gone(pid).await;
    assert!(!socket.exists());
    containerd.wait_for("delete s 137").await;
    for (bundle, id) in [(&sandbox, "s"), (&member, "a")] {
        node.delete(bundle, id);
    }
    let removed = fs::read_to_string(node.directory.path().join("removed")).expect("it was called");
    assert_eq!(removed, "s s\na s\n");
}

#[tokio::test]
async fn a_shim_that_is_killed_at_any_moment_can_be_deleted_and_started_again() {
    let node = Node::new();
    let _containerd = Containerd::start(node.directory.path());
    let bundle = node.bundle("a", None);
    for calls in 0..6 {
        let socket = node.start(&bundle, "a");
        let tasks = Tasks::connect(&socket, SERVICE_V2).await;
        let pid = shim_pid(&tasks).await;
        let request = create_request(node.directory.path(), "a", "sleep", "{}");
        for call in 0..calls {
            match call {
                0 => drop(tasks.create(&request).await.expect("it is created")),
                1 => drop(tasks.start("a", "").await.expect("it is started")),
                2 => drop(tasks.exec("a", "e", "sleep").await.expect("it is created")),
                3 => drop(tasks.start("a", "e").await.expect("it is started")),
                _ => drop(tasks.kill("a", "", 9).await.expect("it runs")),
            }
        }
        kill_process(pid, Signal::KILL).expect("it runs");
        wait_until_gone(pid).await;
        for _ in 0..3 {
            node.delete(&bundle, "a");
        }
        assert!(!socket.exists());
    }
    // A bundle that is gone is no error.
    fs::remove_dir_all(&bundle).expect("it is there");
    let elsewhere = node.directory.path();
    let output = node.run(elsewhere, "a", "delete", b"");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_start_that_fails_says_why() {
    let node = Node::new();
    let output = node.run(node.directory.path(), "a", "start", b"");
    assert!(!output.status.success() && output.stdout.is_empty());
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        reason.contains("cannot read the specification of the container"),
        "{reason}"
    );
    let output = node.run(node.directory.path(), "a/b", "start", b"");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("a/b"),
        "{output:?}"
    );
}

#[test]
fn the_runtime_describes_itself() {
    let output = Command::new(env!("CARGO_BIN_EXE_scripted-shim"))
        .arg("-info")
        .output()
        .expect("it was built");
    let info = RuntimeInfo::decode(&*output.stdout).expect("it is a message");
    assert_eq!(info.name, "io.containerd.msbscripted.v1");
    assert_eq!(
        info.annotations[ALLOWED_MOUNTS],
        "erofs,format/*,mkfs/*,mkdir/*"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_scripted-shim"))
        .arg("-v")
        .output()
        .expect("it was built");
    assert_eq!(output.stdout, b"io.containerd.msbscripted.v1 1\n");
}
