//! The Task service of a shim, packages `containerd.task.v2` and `containerd.task.v3`.

mod container;
mod process;
mod state;

pub use container::{
    ConnectRequest, ConnectResponse, CreateTaskRequest, CreateTaskResponse, PauseRequest,
    PidsRequest, PidsResponse, ProcessInfo, ResumeRequest, ShutdownRequest, StatsRequest,
    StatsResponse, UpdateTaskRequest,
};
pub use process::{
    CloseIoRequest, DeleteRequest, DeleteResponse, ExecProcessRequest, KillRequest,
    ResizePtyRequest, StartRequest, StartResponse, WaitRequest, WaitResponse,
};
pub use state::{StateRequest, StateResponse, TaskStatus};

/// The service in version 2, which containerd 1.6 and later call.
pub const SERVICE_V2: &str = "containerd.task.v2.Task";
/// The service in version 3, which containerd 2.0 and later call.
pub const SERVICE_V3: &str = "containerd.task.v3.Task";
/// The entry of a call's metadata with the caller's namespace.
pub const NAMESPACE_METADATA: &str = "containerd-namespace-ttrpc";
