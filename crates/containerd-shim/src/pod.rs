//! The machine of a pod, as a shim uses it.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

use containerd_protocol::Any;
use containerd_protocol::metrics::Metrics;
use containerd_protocol::mount::Mount;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::PodError;

/// The machine of a pod: a virtual machine and the containers in it.
///
/// A future can be dropped before it is ready, because every call has a time limit. A container that was being created
/// then counts as not created, and [`delete`](Self::delete) is called for it.
pub trait Pod: Send + Sync + 'static {
    /// Boots the machine for its first container, which is the sandbox of a pod or the only container.
    fn boot(&self, first: &Container) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Returns the pid of the VMM process, which every task reports; 0 before the machine was booted.
    fn vmm_pid(&self) -> u32;

    /// Waits until the machine has ended, whatever the cause. It waits before the machine was booted, too.
    fn ended(&self) -> impl Future<Output = ()> + Send;

    /// Prepares a container: its root filesystem and its mounts. It is not called for the sandbox of a pod.
    fn create(&self, container: &Container) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Starts the main process of a container.
    fn start(
        &self,
        container: &Container,
    ) -> impl Future<Output = Result<Running, PodError>> + Send;

    /// Starts a further process in a container.
    fn exec(&self, exec: &Exec) -> impl Future<Output = Result<Running, PodError>> + Send;

    /// Sends a signal to a process, or to all processes of its container.
    fn signal(
        &self,
        process: &ProcessName,
        signal: u32,
        all: bool,
    ) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Sets the size of a process's terminal.
    fn resize(
        &self,
        process: &ProcessName,
        size: TerminalSize,
    ) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Removes a container whose processes have ended, or kills them. A container that does not exist is no error, and
    /// the machine may have ended.
    fn delete(&self, container_id: &str) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Returns the statistics of a container.
    fn stats(&self, container_id: &str) -> impl Future<Output = Result<Metrics, PodError>> + Send;

    /// Changes the limits of a container to `LinuxResources` in JSON.
    fn update(
        &self,
        container_id: &str,
        resources: &[u8],
    ) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Stops all processes of a container where they are.
    fn pause(&self, container_id: &str) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Lets the processes of a paused container go on.
    fn resume(&self, container_id: &str) -> impl Future<Output = Result<(), PodError>> + Send;

    /// Ends the machine and everything in it. A machine that does not run is no error.
    fn shut_down(&self) -> impl Future<Output = ()> + Send;
}

/// A container to create.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// The id of the container.
    pub id: String,
    /// The directory of the bundle, with `config.json`.
    pub bundle: PathBuf,
    /// The mounts of the root filesystem, as containerd describes them.
    pub rootfs: Vec<Mount>,
    /// True if the main process has a terminal.
    pub has_terminal: bool,
    /// True for the sandbox of a pod, which has no process.
    pub is_sandbox: bool,
    /// The options of the runtime.
    pub options: Option<Any>,
}

/// A further process of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// The name of the process.
    pub name: ProcessName,
    /// True if the process has a terminal.
    pub has_terminal: bool,
    /// `Process` of the OCI runtime specification in JSON.
    pub spec: Vec<u8>,
}

/// The name of a process: its container, and its own id if it is not the main process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessName {
    /// The id of the container.
    pub container_id: String,
    /// The id of a further process; `None` for the main process.
    pub exec_id: Option<String>,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// The number of columns.
    pub width: u32,
    /// The number of lines.
    pub height: u32,
}

/// A started process.
pub struct Running {
    /// Its standard input, or its terminal; `None` if it has neither.
    pub stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    /// Its standard output, or its terminal.
    pub stdout: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// Its standard error; `None` if it has a terminal.
    pub stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// Its end.
    pub exit: Pin<Box<dyn Future<Output = Exit> + Send>>,
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, or 128 and the signal that killed the process.
    pub status: u32,
    /// True if the kernel killed a process of the container because of its memory limit.
    pub is_out_of_memory: bool,
}

impl fmt::Display for ProcessName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let container_id = &self.container_id;
        match &self.exec_id {
            Some(exec_id) => write!(
                formatter,
                "process {exec_id:?} of container {container_id:?}"
            ),
            None => write!(formatter, "container {container_id:?}"),
        }
    }
}

impl ProcessName {
    /// Returns the name of a process in a request, where an empty id is the main process.
    pub(crate) fn new(container_id: &str, exec_id: &str) -> Self {
        Self {
            container_id: container_id.to_owned(),
            exec_id: (!exec_id.is_empty()).then(|| exec_id.to_owned()),
        }
    }
}
