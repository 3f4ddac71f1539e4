//! Calls on one process of a task: the task itself if `exec_id` is empty.

use prost::Message;

use crate::{Any, Timestamp};

/// The request of `Start`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StartRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

/// The response of `Start`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct StartResponse {
    /// The pid of the process.
    #[prost(uint32, tag = "1")]
    pub pid: u32,
}

/// The request of `Delete`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct DeleteRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

/// The response of `Delete`, and of the command `delete` of a shim.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct DeleteResponse {
    /// The pid of the process.
    #[prost(uint32, tag = "1")]
    pub pid: u32,
    /// The exit code, or 128 and the signal that killed the process.
    #[prost(uint32, tag = "2")]
    pub exit_status: u32,
    /// The time of the process's end.
    #[prost(message, optional, tag = "3")]
    pub exited_at: Option<Timestamp>,
}

/// The request of `Wait`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct WaitRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

/// The response of `Wait`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct WaitResponse {
    /// The exit code, or 128 and the signal that killed the process.
    #[prost(uint32, tag = "1")]
    pub exit_status: u32,
    /// The time of the process's end.
    #[prost(message, optional, tag = "2")]
    pub exited_at: Option<Timestamp>,
}

/// The request of `Kill`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct KillRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
    /// The number of the signal.
    #[prost(uint32, tag = "3")]
    pub signal: u32,
    /// True to signal all processes of the container.
    #[prost(bool, tag = "4")]
    pub all: bool,
}

/// The request of `Exec`, which creates a further process and does not start it.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ExecProcessRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the new process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
    /// True if the process has a terminal.
    #[prost(bool, tag = "3")]
    pub terminal: bool,
    /// The path of standard input; empty without one.
    #[prost(string, tag = "4")]
    pub stdin: String,
    /// The path or address of standard output; empty without one.
    #[prost(string, tag = "5")]
    pub stdout: String,
    /// The path or address of standard error; empty without one.
    #[prost(string, tag = "6")]
    pub stderr: String,
    /// The process, `Process` of the OCI runtime specification in JSON.
    #[prost(message, optional, tag = "7")]
    pub spec: Option<Any>,
}

/// The request of `ResizePty`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ResizePtyRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
    /// The width of the terminal, in characters.
    #[prost(uint32, tag = "3")]
    pub width: u32,
    /// The height of the terminal, in lines.
    #[prost(uint32, tag = "4")]
    pub height: u32,
}

/// The request of `CloseIO`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct CloseIoRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
    /// True to close standard input.
    #[prost(bool, tag = "3")]
    pub stdin: bool,
}
