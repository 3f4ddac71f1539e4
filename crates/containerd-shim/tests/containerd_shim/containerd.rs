//! containerd's side: a service that takes events, and may be away.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use containerd_protocol::events::{
    Envelope, FORWARD, ForwardRequest, SERVICE, TaskCreate, TaskDelete, TaskExecAdded,
    TaskExecStarted, TaskExit, TaskOom, TaskPaused, TaskResumed, TaskStart,
};
use containerd_protocol::{Any, Empty, Message as _, Named};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use ttrpc::{Call, Service, Status};

/// An event, as the tests compare them: `create a`, `exit a/e 137`.
pub(crate) type Line = String;

/// A containerd that takes events.
pub(crate) struct Containerd {
    socket: PathBuf,
    taken: Taken,
    server: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Taken(Arc<Mutex<Vec<Line>>>, Arc<watch::Sender<usize>>);

impl Service for Taken {
    async fn call(&self, call: Call) -> Result<Vec<u8>, Status> {
        assert_eq!(
            (call.service.as_str(), call.method.as_str()),
            (SERVICE, FORWARD)
        );
        let request: ForwardRequest = call.decode()?;
        let envelope = request.envelope.expect("it has an event");
        assert_eq!(
            call.metadata.get("containerd-namespace-ttrpc"),
            Some("tests")
        );
        assert_eq!(envelope.namespace, "tests");
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line(&envelope));
        self.1.send_replace(lines.len());
        Ok(Empty {}.encode_to_vec())
    }
}

impl Containerd {
    pub(crate) fn start(directory: &Path) -> Self {
        let taken = Taken(Arc::default(), Arc::new(watch::Sender::new(0)));
        let mut containerd = Self {
            socket: directory.join("events.sock"),
            taken,
            server: None,
        };
        containerd.come_back();
        containerd
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Ends all connections, and accepts no further ones.
    pub(crate) async fn go_away(&mut self) {
        let server = self.server.take().expect("it runs");
        server.abort();
        let _ = server.await;
        fs_err::remove_file(&self.socket).expect("it is there");
    }

    pub(crate) fn come_back(&mut self) {
        let listener = UnixListener::bind(&self.socket).expect("the directory is new");
        let taken = self.taken.clone();
        self.server = Some(tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(ttrpc::serve(stream, Arc::new(taken.clone())));
            }
        }));
    }

    /// Returns all events.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.taken
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits for an event.
    pub(crate) async fn wait_for(&self, wanted: &str) {
        let mut count = self.taken.1.subscribe();
        while !self.lines().iter().any(|line| line == wanted) {
            let changed = count.changed();
            let changed = tokio::time::timeout(super::harness::LIMIT, changed).await;
            changed
                .unwrap_or_else(|_| panic!("no {wanted} in {:?}", self.lines()))
                .expect("it is kept");
        }
    }
}

fn line(envelope: &Envelope) -> Line {
    let any = envelope.event.as_ref().expect("it has an event");
    let pid = crate::pod::VMM_PID;
    match envelope.topic.as_str() {
        "/tasks/create" => {
            let event: TaskCreate = read(any);
            assert_eq!(event.pid, pid);
            format!("create {}", event.container_id)
        }
        "/tasks/start" => {
            let event: TaskStart = read(any);
            assert_eq!(event.pid, pid);
            format!("start {}", event.container_id)
        }
        "/tasks/exit" => {
            let event: TaskExit = read(any);
            assert!(event.exited_at.is_some());
            let process = if event.id == event.container_id {
                String::new()
            } else {
                format!("/{}", event.id)
            };
            format!("exit {}{process} {}", event.container_id, event.exit_status)
        }
        "/tasks/delete" => {
            let event: TaskDelete = read(any);
            format!("delete {} {}", event.container_id, event.exit_status)
        }
        "/tasks/oom" => format!("oom {}", read::<TaskOom>(any).container_id),
        "/tasks/exec-added" => {
            let event: TaskExecAdded = read(any);
            format!("added {}/{}", event.container_id, event.exec_id)
        }
        "/tasks/exec-started" => {
            let event: TaskExecStarted = read(any);
            format!("start {}/{}", event.container_id, event.exec_id)
        }
        "/tasks/paused" => format!("paused {}", read::<TaskPaused>(any).container_id),
        "/tasks/resumed" => format!("resumed {}", read::<TaskResumed>(any).container_id),
        topic => panic!("an unknown topic {topic}"),
    }
}

fn read<M: Named>(any: &Any) -> M {
    any.unpack()
        .expect("it has the type of its topic")
        .expect("it can be read")
}
