//! A shim that serves in this process, its client, and bundles for it.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use containerd_protocol::task::{
    CreateTaskRequest, CreateTaskResponse, DeleteRequest, DeleteResponse, ExecProcessRequest,
    KillRequest, SERVICE_V3, ShutdownRequest, StartRequest, StartResponse, StateRequest,
    StateResponse, TaskStatus, WaitRequest, WaitResponse,
};
use containerd_protocol::{Any, Empty, Message};
use fs_err as fs;
use msb_containerd_shim::{Group, Log, Server};
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use ttrpc::{CallError, CallOptions, Client, Code};

use crate::containerd::Containerd;
use crate::pod::ScriptedPod;

/// The bound of everything that has to happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A shim, and the containerd that uses it.
pub(crate) struct Harness {
    pub(crate) directory: TempDir,
    pub(crate) containerd: Containerd,
    pub(crate) pod: ScriptedPod,
    pub(crate) tasks: Tasks,
    pub(crate) server: JoinHandle<std::io::Result<()>>,
}

/// A client of the Task service.
pub(crate) struct Tasks {
    client: Client,
    service: &'static str,
}

impl Harness {
    pub(crate) async fn new() -> Self {
        let directory = TempDir::new().expect("there is room");
        let containerd = Containerd::start(directory.path());
        let pod = ScriptedPod::new();
        let group = Group {
            namespace: "tests".to_owned(),
            containerd: "/containerd.sock".to_owned(),
            id: "group".to_owned(),
        };
        let socket = directory.path().join("shim.sock");
        let listener = UnixListener::bind(&socket).expect("the directory is new");
        listener.set_nonblocking(true).expect("it is a socket");
        let server = Server::new(pod.clone(), &group, containerd.socket(), Log::default());
        let server = tokio::spawn(server.serve(listener));
        Self {
            tasks: Tasks::connect(&socket, SERVICE_V3).await,
            directory,
            containerd,
            pod,
            server,
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("shim.sock")
    }

    /// Returns the number of containers in the machine.
    pub(crate) fn containers(&self) -> usize {
        self.pod
            .0
            .containers
            .lock()
            .expect("no test panicked")
            .len()
    }

    /// Makes a bundle whose process has these words, and returns the request for it.
    pub(crate) fn request(&self, id: &str, words: &str) -> CreateTaskRequest {
        create_request(self.directory.path(), id, words, "{}")
    }

    /// Makes the bundle of a pod's sandbox, or of a container in it.
    pub(crate) fn pod_request(&self, id: &str, words: &str, sandbox: &str) -> CreateTaskRequest {
        let kind = if id == sandbox {
            "sandbox"
        } else {
            "container"
        };
        let annotations = format!(
            r#"{{"io.kubernetes.cri.container-type": "{kind}", "io.kubernetes.cri.sandbox-id": "{sandbox}"}}"#
        );
        create_request(self.directory.path(), id, words, &annotations)
    }

    /// Creates and starts a container.
    pub(crate) async fn run(&self, request: &CreateTaskRequest) {
        self.tasks.create(request).await.expect("it is created");
        self.tasks
            .start(&request.id, "")
            .await
            .expect("it is started");
    }

    /// Creates and starts a further process.
    pub(crate) async fn exec(&self, id: &str, exec_id: &str, words: &str) {
        self.tasks
            .exec(id, exec_id, words)
            .await
            .expect("it is created");
        self.tasks.start(id, exec_id).await.expect("it is started");
    }
}

impl Tasks {
    pub(crate) async fn connect(socket: &Path, service: &'static str) -> Self {
        let stream = UnixStream::connect(socket).await.expect("the shim listens");
        Self {
            client: Client::new(stream),
            service,
        }
    }

    pub(crate) async fn call<R: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Result<R, Code> {
        let call = self.call_in(method, request, LIMIT);
        call.await.map_err(|error| match error {
            CallError::Status(status) => status.code(),
            other => panic!("{method}: {other}"),
        })
    }

    pub(crate) async fn call_in<R: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        timeout: Duration,
    ) -> Result<R, CallError> {
        let options = CallOptions {
            timeout: Some(timeout),
            ..CallOptions::default()
        };
        self.client
            .call(self.service, method, request, &options)
            .await
    }

    pub(crate) async fn create(&self, request: &CreateTaskRequest) -> Result<u32, Code> {
        let created: CreateTaskResponse = self.call("Create", request).await?;
        Ok(created.pid)
    }

    pub(crate) async fn start(&self, id: &str, exec_id: &str) -> Result<u32, Code> {
        let request = StartRequest {
            id: id.into(),
            exec_id: exec_id.into(),
        };
        let started: StartResponse = self.call("Start", &request).await?;
        Ok(started.pid)
    }

    pub(crate) async fn exec(&self, id: &str, exec_id: &str, words: &str) -> Result<Empty, Code> {
        self.call("Exec", &exec_request(id, exec_id, words)).await
    }

    pub(crate) async fn wait(&self, id: &str, exec_id: &str) -> Result<u32, Code> {
        let request = WaitRequest {
            id: id.into(),
            exec_id: exec_id.into(),
        };
        let ended: WaitResponse = self.call("Wait", &request).await?;
        Ok(ended.exit_status)
    }

    pub(crate) async fn kill(&self, id: &str, exec_id: &str, signal: u32) -> Result<Empty, Code> {
        let request = KillRequest {
            id: id.into(),
            exec_id: exec_id.into(),
            signal,
            all: false,
        };
        self.call("Kill", &request).await
    }

    pub(crate) async fn delete(&self, id: &str, exec_id: &str) -> Result<u32, Code> {
        let request = DeleteRequest {
            id: id.into(),
            exec_id: exec_id.into(),
        };
        let deleted: DeleteResponse = self.call("Delete", &request).await?;
        Ok(deleted.exit_status)
    }

    pub(crate) async fn state(&self, id: &str, exec_id: &str) -> Result<StateResponse, Code> {
        let request = StateRequest {
            id: id.into(),
            exec_id: exec_id.into(),
        };
        self.call("State", &request).await
    }

    pub(crate) async fn status(&self, id: &str, exec_id: &str) -> Result<TaskStatus, Code> {
        Ok(self.state(id, exec_id).await?.status())
    }

    pub(crate) async fn shut_down(&self) {
        let request = ShutdownRequest {
            id: String::new(),
            now: false,
        };
        let _: Empty = self.call("Shutdown", &request).await.expect("it answers");
    }
}

/// Makes a bundle, and returns the request for it.
pub(crate) fn create_request(
    directory: &Path,
    id: &str,
    words: &str,
    annotations: &str,
) -> CreateTaskRequest {
    let bundle = directory.join(id);
    fs::create_dir_all(&bundle).expect("there is room");
    let arguments = arguments(words);
    let config = format!(r#"{{"process": {arguments}, "annotations": {annotations}}}"#);
    // The shim can be reading the file of an earlier request.
    let unfinished = bundle.join("unfinished");
    fs::write(&unfinished, config).expect("there is room");
    fs::rename(&unfinished, bundle.join("config.json")).expect("there is room");
    CreateTaskRequest {
        id: id.to_owned(),
        bundle: bundle.display().to_string(),
        ..CreateTaskRequest::default()
    }
}

/// Returns the request for a further process.
pub(crate) fn exec_request(id: &str, exec_id: &str, words: &str) -> ExecProcessRequest {
    ExecProcessRequest {
        id: id.into(),
        exec_id: exec_id.into(),
        spec: Some(Any {
            type_url: "process".into(),
            value: arguments(words).into_bytes(),
        }),
        ..ExecProcessRequest::default()
    }
}

fn arguments(words: &str) -> String {
    let words: Vec<_> = words
        .split_whitespace()
        .map(|word| format!("{word:?}"))
        .collect();
    format!(r#"{{"args": [{}]}}"#, words.join(", "))
}
