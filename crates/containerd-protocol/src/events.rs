//! Events of tasks, package `containerd.events`, and the service that takes them.

use prost::Message;

use crate::mount::Mount;
use crate::{Any, Named, Timestamp};

/// The service of containerd that takes events over ttrpc.
pub const SERVICE: &str = "containerd.services.events.ttrpc.v1.Events";
/// The method that takes an event.
pub const FORWARD: &str = "Forward";

/// The topic of [`TaskCreate`].
pub const TOPIC_CREATE: &str = "/tasks/create";
/// The topic of [`TaskStart`].
pub const TOPIC_START: &str = "/tasks/start";
/// The topic of [`TaskExit`].
pub const TOPIC_EXIT: &str = "/tasks/exit";
/// The topic of [`TaskDelete`].
pub const TOPIC_DELETE: &str = "/tasks/delete";
/// The topic of [`TaskOom`].
pub const TOPIC_OOM: &str = "/tasks/oom";
/// The topic of [`TaskExecAdded`].
pub const TOPIC_EXEC_ADDED: &str = "/tasks/exec-added";
/// The topic of [`TaskExecStarted`].
pub const TOPIC_EXEC_STARTED: &str = "/tasks/exec-started";
/// The topic of [`TaskPaused`].
pub const TOPIC_PAUSED: &str = "/tasks/paused";
/// The topic of [`TaskResumed`].
pub const TOPIC_RESUMED: &str = "/tasks/resumed";

/// The request of [`FORWARD`].
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ForwardRequest {
    /// The event.
    #[prost(message, optional, tag = "1")]
    pub envelope: Option<Envelope>,
}

/// An event on its way to containerd, `containerd.types.Envelope`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Envelope {
    /// The time of the event.
    #[prost(message, optional, tag = "1")]
    pub timestamp: Option<Timestamp>,
    /// The namespace of the container.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// The topic of the event.
    #[prost(string, tag = "3")]
    pub topic: String,
    /// The event.
    #[prost(message, optional, tag = "4")]
    pub event: Option<Any>,
}

/// A task was created.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskCreate {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// The directory of the container's bundle.
    #[prost(string, tag = "2")]
    pub bundle: String,
    /// The mounts of the root filesystem.
    #[prost(message, repeated, tag = "3")]
    pub rootfs: Vec<Mount>,
    /// The input and output of the task.
    #[prost(message, optional, tag = "4")]
    pub io: Option<TaskIo>,
    /// The path of the checkpoint that the task continues.
    #[prost(string, tag = "5")]
    pub checkpoint: String,
    /// The pid of the task.
    #[prost(uint32, tag = "6")]
    pub pid: u32,
}

/// The paths of a task's input and output.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskIo {
    /// The path of standard input; empty without one.
    #[prost(string, tag = "1")]
    pub stdin: String,
    /// The path of standard output; empty without one.
    #[prost(string, tag = "2")]
    pub stdout: String,
    /// The path of standard error; empty without one.
    #[prost(string, tag = "3")]
    pub stderr: String,
    /// True if the task has a terminal.
    #[prost(bool, tag = "4")]
    pub terminal: bool,
}

/// A task was started.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskStart {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// The pid of the task.
    #[prost(uint32, tag = "2")]
    pub pid: u32,
}

/// A task or a further process of it has ended.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskExit {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// The id of the process: the container's for the task itself.
    #[prost(string, tag = "2")]
    pub id: String,
    /// The pid of the process.
    #[prost(uint32, tag = "3")]
    pub pid: u32,
    /// The exit code, or 128 and the signal that killed the process.
    #[prost(uint32, tag = "4")]
    pub exit_status: u32,
    /// The time of the end.
    #[prost(message, optional, tag = "5")]
    pub exited_at: Option<Timestamp>,
}

/// A task was deleted.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskDelete {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// The pid of the task.
    #[prost(uint32, tag = "2")]
    pub pid: u32,
    /// The exit code, or 128 and the signal that killed the task.
    #[prost(uint32, tag = "3")]
    pub exit_status: u32,
    /// The time of the task's end.
    #[prost(message, optional, tag = "4")]
    pub exited_at: Option<Timestamp>,
    /// The id of the process.
    #[prost(string, tag = "5")]
    pub id: String,
}

/// The kernel killed a process of a task because of its memory limit.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskOom {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
}

/// A further process of a task was created.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskExecAdded {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

/// A further process of a task was started.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskExecStarted {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
    /// The pid of the process.
    #[prost(uint32, tag = "3")]
    pub pid: u32,
}

/// The processes of a task were paused.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskPaused {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
}

/// The processes of a task go on.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TaskResumed {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub container_id: String,
}

impl Named for TaskCreate {
    const TYPE_NAME: &'static str = "containerd.events.TaskCreate";
}

impl Named for TaskStart {
    const TYPE_NAME: &'static str = "containerd.events.TaskStart";
}

impl Named for TaskExit {
    const TYPE_NAME: &'static str = "containerd.events.TaskExit";
}

impl Named for TaskDelete {
    const TYPE_NAME: &'static str = "containerd.events.TaskDelete";
}

impl Named for TaskOom {
    const TYPE_NAME: &'static str = "containerd.events.TaskOOM";
}

impl Named for TaskExecAdded {
    const TYPE_NAME: &'static str = "containerd.events.TaskExecAdded";
}

impl Named for TaskExecStarted {
    const TYPE_NAME: &'static str = "containerd.events.TaskExecStarted";
}

impl Named for TaskPaused {
    const TYPE_NAME: &'static str = "containerd.events.TaskPaused";
}

impl Named for TaskResumed {
    const TYPE_NAME: &'static str = "containerd.events.TaskResumed";
}
