//! `Create` and `Exec`: new containers and processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use containerd_protocol::events::{TOPIC_CREATE, TaskCreate};
use containerd_protocol::task::{CreateTaskRequest, ExecProcessRequest};

use super::entry::Entry;
use super::process::{KILLED, Process};
use super::{TaskError, Tasks, change};
use crate::bundle::Membership;
use crate::machine::CREATE_TIMEOUT;
use crate::stdio::StdioPaths;
use crate::{Container, Pod, PodError, ProcessName};

/// The most processes of a shim that are not deleted.
const PROCESSES_MAX: usize = 4096;
/// The most bytes of an id. containerd accepts 76.
const ID_MAX_BYTES: usize = 255;
/// The most bytes of the description of a process.
const SPEC_MAX_BYTES: usize = 1 << 20;

impl<P: Pod> Tasks<P> {
    /// Creates a container, and boots the machine for the first one. Returns the pid of its task.
    pub(crate) async fn create(
        self: &Arc<Self>,
        request: CreateTaskRequest,
    ) -> Result<u32, TaskError> {
        check_id(&request.id)?;
        if !request.checkpoint.is_empty() {
            return Err(TaskError::Unsupported("a checkpoint"));
        }
        let stdio = StdioPaths {
            stdin: request.stdin.clone(),
            stdout: request.stdout.clone(),
            stderr: request.stderr.clone(),
            has_terminal: request.terminal,
        };
        stdio.check()?;
        self.check_room()?;
        self.is_used.send_replace(true);
        change(Arc::clone(self).create_now(request, stdio)).await
    }

    async fn create_now(
        self: Arc<Self>,
        request: CreateTaskRequest,
        stdio: StdioPaths,
    ) -> Result<u32, TaskError> {
        let bundle = PathBuf::from(&request.bundle);
        let membership = {
            let bundle = bundle.clone();
            tokio::task::spawn_blocking(move || Membership::read(&bundle)).await
        };
        let membership = membership.map_err(|_| TaskError::Defect)??;
        let name = ProcessName::new(&request.id, "");
        let is_first = match &membership {
            Membership::Single | Membership::Sandbox => true,
            Membership::Member(sandbox) if self.registry.is_first(sandbox) => false,
            Membership::Member(_) => {
                let reason = "the sandbox of its pod does not run";
                return Err(TaskError::State {
                    action: "create",
                    name,
                    reason,
                });
            }
        };
        let reservation = self.registry.reserve(&request.id, is_first)?;
        let container = Container {
            id: request.id,
            bundle,
            rootfs: request.rootfs,
            has_terminal: request.terminal,
            is_sandbox: membership == Membership::Sandbox,
            options: request.options,
        };
        let made = self.make(&container, is_first).await;
        made.map_err(TaskError::pod("create", &name))?;
        let event = TaskCreate {
            container_id: container.id.clone(),
            bundle: request.bundle,
            rootfs: container.rootfs.clone(),
            io: Some(stdio.to_io()),
            checkpoint: String::new(),
            pid: self.pid(),
        };
        let process = Arc::new(Process::new(name, stdio, Vec::new(), &self.events));
        let entry = Arc::new(Entry::new(container, Arc::clone(&process)));
        reservation.fill(entry, || self.events.push(TOPIC_CREATE, &event));
        // The watch of the machine may have missed this container.
        if self.is_machine_over.load(Ordering::SeqCst) {
            process.finish(KILLED, self.pid());
        }
        Ok(self.pid())
    }

    /// Makes a container in the machine. If that fails, nothing of it is left.
    async fn make(self: &Arc<Self>, container: &Container, is_first: bool) -> Result<(), PodError> {
        let pod = self.machine.pod();
        let made = self.machine.call(CREATE_TIMEOUT, async {
            if is_first {
                pod.boot(container).await?;
            }
            if !container.is_sandbox {
                pod.create(container).await?;
            }
            Ok(())
        });
        let made = made.await;
        match (&made, is_first) {
            (Ok(()), true) => self.watch_machine(),
            (Ok(()), false) => {}
            (Err(_), true) => self.machine.shut_down().await,
            (Err(_), false) => {
                // The first error is reported.
                let _ = self.machine.remove(&container.id).await;
            }
        }
        made
    }

    /// Creates a further process.
    pub(crate) fn exec(&self, request: ExecProcessRequest) -> Result<(), TaskError> {
        check_id(&request.exec_id)?;
        let stdio = StdioPaths {
            stdin: request.stdin,
            stdout: request.stdout,
            stderr: request.stderr,
            has_terminal: request.terminal,
        };
        stdio.check()?;
        self.check_room()?;
        let (entry, _) = self.find(&ProcessName::new(&request.id, ""))?;
        let name = ProcessName::new(&request.id, &request.exec_id);
        if entry.container.is_sandbox {
            let reason = "the sandbox of a pod has no processes";
            return Err(TaskError::State {
                action: "create",
                name,
                reason,
            });
        }
        let spec = request.spec.map(|spec| spec.value).unwrap_or_default();
        if spec.len() > SPEC_MAX_BYTES {
            return Err(TaskError::Invalid(
                "the description of the process has more than 1 MiB",
            ));
        }
        entry.add(Process::new(name, stdio, spec, &self.events), &self.events)
    }

    fn check_room(&self) -> Result<(), TaskError> {
        let entries = self.registry.all();
        let processes: usize = entries
            .iter()
            .map(|entry| 1 + entry.all_execs().len())
            .sum();
        if processes < PROCESSES_MAX {
            return Ok(());
        }
        let limit = PROCESSES_MAX;
        Err(TaskError::TooMany { limit })
    }
}

fn check_id(id: &str) -> Result<(), TaskError> {
    match id.len() {
        1..=ID_MAX_BYTES => Ok(()),
        _ => Err(TaskError::Invalid("an id has from 1 to 255 bytes")),
    }
}
