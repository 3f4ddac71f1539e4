//! Calls on a container's task.

use std::collections::HashMap;

use prost::Message;

use crate::Any;
use crate::mount::Mount;

/// The request of `Create`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CreateTaskRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The directory of the bundle, with `config.json`.
    #[prost(string, tag = "2")]
    pub bundle: String,
    /// The mounts of the root filesystem.
    #[prost(message, repeated, tag = "3")]
    pub rootfs: Vec<Mount>,
    /// True if the task has a terminal.
    #[prost(bool, tag = "4")]
    pub terminal: bool,
    /// The path of standard input; empty without one.
    #[prost(string, tag = "5")]
    pub stdin: String,
    /// The path or address of standard output; empty without one.
    #[prost(string, tag = "6")]
    pub stdout: String,
    /// The path or address of standard error; empty without one.
    #[prost(string, tag = "7")]
    pub stderr: String,
    /// The path of a checkpoint to continue.
    #[prost(string, tag = "8")]
    pub checkpoint: String,
    /// The path of the checkpoint before it.
    #[prost(string, tag = "9")]
    pub parent_checkpoint: String,
    /// The options of the runtime.
    #[prost(message, optional, tag = "10")]
    pub options: Option<Any>,
}

/// The response of `Create`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct CreateTaskResponse {
    /// The pid of the task.
    #[prost(uint32, tag = "1")]
    pub pid: u32,
}

/// The request of `Pids`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PidsRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
}

/// The response of `Pids`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PidsResponse {
    /// The processes of the task.
    #[prost(message, repeated, tag = "1")]
    pub processes: Vec<ProcessInfo>,
}

/// A process of a task, `containerd.v1.types.ProcessInfo`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ProcessInfo {
    /// The pid of the process.
    #[prost(uint32, tag = "1")]
    pub pid: u32,
    /// Further facts on the process.
    #[prost(message, optional, tag = "2")]
    pub info: Option<Any>,
}

/// The request of `Stats`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StatsRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
}

/// The response of `Stats`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StatsResponse {
    /// The statistics, such as [`Metrics`](crate::metrics::Metrics).
    #[prost(message, optional, tag = "1")]
    pub stats: Option<Any>,
}

/// The request of `Connect`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ConnectRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
}

/// The response of `Connect`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ConnectResponse {
    /// The pid of the shim.
    #[prost(uint32, tag = "1")]
    pub shim_pid: u32,
    /// The pid of the task.
    #[prost(uint32, tag = "2")]
    pub task_pid: u32,
    /// The version of the shim.
    #[prost(string, tag = "3")]
    pub version: String,
}

/// The request of `Update`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct UpdateTaskRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The limits, `LinuxResources` of the OCI runtime specification in JSON.
    #[prost(message, optional, tag = "2")]
    pub resources: Option<Any>,
    /// Annotations.
    #[prost(map = "string, string", tag = "3")]
    pub annotations: HashMap<String, String>,
}

/// The request of `Pause`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PauseRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
}

/// The request of `Resume`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ResumeRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
}

/// The request of `Shutdown`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ShutdownRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// True to end the shim while it has tasks.
    #[prost(bool, tag = "2")]
    pub now: bool,
}
