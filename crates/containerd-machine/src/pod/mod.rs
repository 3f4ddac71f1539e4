//! The machine of a container: a sandbox that the shim owns.

mod boot;
mod call;
mod figures;
mod process;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use container_plan::ContainerPlan;
use containerd_protocol::metrics::Metrics;
use msb_agent_protocol::v1::{
    ContainerRoot, ContainerStatsRequest, CreateContainerRequest, DeleteContainerRequest,
    PauseContainerRequest, ResizeContainerRequest, ResumeContainerRequest, SignalContainerRequest,
    UpdateContainerRequest, WindowSize, container_root,
};
use msb_agent_protocol::{Bytes, Client, Control};
use msb_containerd_shim::{
    Container, Exec, Group, Log, Pod, PodError, ProcessName, Running, TerminalSize,
};
use msb_runtime::Sandbox as StoredSandbox;
use msb_sdk::{Force, Sandbox};
use oci_spec_plan::plan_resources;
use tokio::sync::watch;

use crate::specification;
use call::{failed, refused};
use figures::metrics;

/// The root filesystem of the container: the root of the sandbox, without what is mounted on it.
const ROOT: &[u8] = b"/";

/// The machine of one container: a sandbox of msb.
pub struct SandboxPod {
    group: Group,
    log: Log,
    machine: Mutex<Option<Machine>>,
    /// The plan of the container; `None` before the machine was booted for it.
    plan: Mutex<Option<ContainerPlan>>,
    /// The pid of the VMM process; 0 before the machine was booted.
    vmm_pid: AtomicU32,
    has_ended: Arc<watch::Sender<bool>>,
    /// The control of the container's further processes.
    execs: Execs,
}

/// The control of further processes, by their names.
type Execs = Arc<Mutex<HashMap<ProcessName, Control>>>;

/// A running machine. Clones are the same machine.
#[derive(Clone)]
struct Machine {
    /// The handle that owns the sandbox.
    sandbox: Sandbox,
    stored: StoredSandbox,
    client: Client,
}

impl fmt::Debug for SandboxPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SandboxPod").field(&self.group).finish()
    }
}

impl SandboxPod {
    /// Returns the machine of a group, which is not booted yet. Its log is that of the bundle in the working directory.
    pub(crate) fn new(group: &Group) -> Self {
        Self {
            group: group.clone(),
            log: Log::open(Path::new(".")),
            machine: Mutex::default(),
            plan: Mutex::default(),
            vmm_pid: AtomicU32::new(0),
            has_ended: Arc::new(watch::Sender::new(false)),
            execs: Arc::default(),
        }
    }

    fn machine(&self) -> Result<Machine, PodError> {
        lock(&self.machine).clone().ok_or(PodError::Ended)
    }

    /// Returns a connection of its own for a process, because one connection has room for 256 calls.
    async fn connection(&self) -> Result<Client, PodError> {
        let stored = self.machine()?.stored;
        let connected = stored.connect_supervisor().await;
        connected.map_err(|error| PodError::Other(error.into()))
    }
}

impl Pod for SandboxPod {
    async fn boot(&self, first: &Container) -> Result<(), PodError> {
        self.boot_for(first).await
    }

    fn vmm_pid(&self) -> u32 {
        self.vmm_pid.load(Ordering::SeqCst)
    }

    async fn ended(&self) {
        let mut has_ended = self.has_ended.subscribe();
        // The sender lives as long as this call.
        let _ = has_ended.wait_for(|has_ended| *has_ended).await;
    }

    async fn create(&self, container: &Container) -> Result<(), PodError> {
        let plan = lock(&self.plan).clone();
        let plan = plan.filter(|plan| plan.id == container.id);
        let plan = plan.ok_or_else(|| PodError::NotFound(container.id.clone()))?;
        let plan = plan.to_bytes().map_err(|error| refused(&error))?;
        let root = container_root::Source::Directory(Bytes::from_static(ROOT));
        let request = CreateContainerRequest {
            plan: plan.into(),
            root: Some(ContainerRoot { source: Some(root) }),
            stdin: true,
        };
        let mut containers = self.machine()?.client.containers();
        let created = containers.create(request).await;
        created.map_err(failed(&container.id)).map(drop)
    }

    async fn start(&self, container: &Container) -> Result<Running, PodError> {
        let machine = self.machine()?;
        process::start(self.connection().await?, machine.client, container).await
    }

    async fn exec(&self, exec: &Exec) -> Result<Running, PodError> {
        process::exec(self.connection().await?, exec, &self.execs).await
    }

    async fn signal(&self, process: &ProcessName, signal: u32, all: bool) -> Result<(), PodError> {
        let signal = i32::try_from(signal).unwrap_or(i32::MAX);
        if process.exec_id.is_some() {
            let mut control = self.exec_control(process)?;
            return control.signal(signal).await.map_err(call::lost(process));
        }
        let request = SignalContainerRequest {
            container_id: process.container_id.clone(),
            signal,
            all,
        };
        let mut containers = self.machine()?.client.containers();
        let signalled = containers.signal(request).await;
        let failed = call::not_signalled(&process.container_id);
        signalled.map_err(failed).map(drop)
    }

    async fn resize(&self, process: &ProcessName, size: TerminalSize) -> Result<(), PodError> {
        let size = WindowSize {
            rows: size.height,
            columns: size.width,
        };
        if process.exec_id.is_some() {
            let mut control = self.exec_control(process)?;
            return control.resize(size).await.map_err(call::lost(process));
        }
        let request = ResizeContainerRequest {
            container_id: process.container_id.clone(),
            size: Some(size),
        };
        let mut containers = self.machine()?.client.containers();
        let resized = containers.resize(request).await;
        resized.map_err(failed(&process.container_id)).map(drop)
    }

    async fn delete(&self, container_id: &str) -> Result<(), PodError> {
        let Ok(machine) = self.machine() else {
            return Ok(());
        };
        if *self.has_ended.borrow() {
            return Ok(());
        }
        let request = DeleteContainerRequest {
            container_id: container_id.to_owned(),
        };
        let deleted = machine.client.containers().delete(request).await;
        match deleted.map_err(failed(container_id)) {
            Ok(_) | Err(PodError::NotFound(_)) => Ok(()),
            // The machine ended meanwhile.
            Err(_) if *self.has_ended.borrow() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn stats(&self, container_id: &str) -> Result<Metrics, PodError> {
        let request = ContainerStatsRequest {
            container_id: container_id.to_owned(),
        };
        let mut containers = self.machine()?.client.containers();
        let figures = containers.stats(request).await;
        let figures = figures.map_err(failed(container_id))?;
        Ok(metrics(figures.get_ref()))
    }

    async fn update(&self, container_id: &str, resources: &[u8]) -> Result<(), PodError> {
        let planned = plan_resources(resources);
        let cgroup = planned.map_err(|error| specification::refused(&error))?;
        let request = UpdateContainerRequest {
            container_id: container_id.to_owned(),
            cgroup: cgroup.to_bytes().map_err(|error| refused(&error))?.into(),
        };
        let mut containers = self.machine()?.client.containers();
        let updated = containers.update(request).await;
        updated.map_err(failed(container_id)).map(drop)
    }

    async fn pause(&self, container_id: &str) -> Result<(), PodError> {
        let request = PauseContainerRequest {
            container_id: container_id.to_owned(),
        };
        let mut containers = self.machine()?.client.containers();
        let paused = containers.pause(request).await;
        paused.map_err(failed(container_id)).map(drop)
    }

    async fn resume(&self, container_id: &str) -> Result<(), PodError> {
        let request = ResumeContainerRequest {
            container_id: container_id.to_owned(),
        };
        let mut containers = self.machine()?.client.containers();
        let resumed = containers.resume(request).await;
        resumed.map_err(failed(container_id)).map(drop)
    }

    /// Kills the machine: what it has written goes with its sandbox.
    async fn shut_down(&self) {
        let machine = lock(&self.machine).take();
        if let Some(machine) = machine
            && let Err(error) = machine.sandbox.remove(Force::Yes).await
        {
            self.log
                .warn(&format!("cannot remove the sandbox: {error}"));
        }
        self.has_ended.send_replace(true);
    }
}

impl SandboxPod {
    fn exec_control(&self, process: &ProcessName) -> Result<Control, PodError> {
        let control = lock(&self.execs).get(process).cloned();
        control.ok_or_else(|| PodError::NotFound(process.to_string()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
