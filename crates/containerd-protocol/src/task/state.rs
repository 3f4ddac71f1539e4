//! The state of a process.

use prost::{Enumeration, Message};

use crate::Timestamp;

/// The request of `State`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StateRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The id of the process.
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

/// The response of `State`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StateResponse {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The directory of the bundle.
    #[prost(string, tag = "2")]
    pub bundle: String,
    /// The pid of the process.
    #[prost(uint32, tag = "3")]
    pub pid: u32,
    /// The state.
    #[prost(enumeration = "TaskStatus", tag = "4")]
    pub status: i32,
    /// The path of standard input; empty without one.
    #[prost(string, tag = "5")]
    pub stdin: String,
    /// The path or address of standard output; empty without one.
    #[prost(string, tag = "6")]
    pub stdout: String,
    /// The path or address of standard error; empty without one.
    #[prost(string, tag = "7")]
    pub stderr: String,
    /// True if the process has a terminal.
    #[prost(bool, tag = "8")]
    pub terminal: bool,
    /// The exit code, or 128 and the signal that killed the process.
    #[prost(uint32, tag = "9")]
    pub exit_status: u32,
    /// The time of the process's end.
    #[prost(message, optional, tag = "10")]
    pub exited_at: Option<Timestamp>,
    /// The id of the process.
    #[prost(string, tag = "11")]
    pub exec_id: String,
}

/// The state of a process, `containerd.v1.types.Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Enumeration)]
#[repr(i32)]
pub enum TaskStatus {
    /// The state is not known.
    Unknown = 0,
    /// Created, and not started.
    Created = 1,
    /// The process has been started.
    Running = 2,
    /// The process has ended.
    Stopped = 3,
    /// The process is paused.
    Paused = 4,
    /// The process is being paused.
    Pausing = 5,
}
