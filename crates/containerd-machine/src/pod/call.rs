//! The errors of calls of the guest's agent, as a shim reports them.

use std::error::Error;

use msb_agent_protocol::{ClientError, Code, Status};
use msb_containerd_shim::{PodError, ProcessName};

/// Returns the error of a call on a container.
pub(super) fn failed(container_id: &str) -> impl Fn(Status) -> PodError {
    move |status| match status.code() {
        Code::NotFound => PodError::NotFound(format!("container {container_id:?}")),
        Code::InvalidArgument => PodError::Refused(status.message().to_owned()),
        _ => PodError::Other(status.message().into()),
    }
}

/// Returns the error of a signal to a container, which can have ended.
pub(super) fn not_signalled(container_id: &str) -> impl Fn(Status) -> PodError {
    let failed = failed(container_id);
    let ended = format!("a process of container {container_id:?}");
    move |status| match status.code() {
        Code::FailedPrecondition => PodError::NotFound(ended.clone()),
        _ => failed(status),
    }
}

/// Returns the error of a call on a further process, which can have ended.
pub(super) fn lost(process: &ProcessName) -> impl Fn(ClientError) -> PodError {
    move |error| match error {
        // The agent knows a process as long as it runs.
        ClientError::Call { .. } => PodError::NotFound(process.to_string()),
        error => PodError::Other(error.into()),
    }
}

/// Returns the refusal of a plan.
pub(super) fn refused(error: &dyn Error) -> PodError {
    PodError::Refused(error.to_string())
}
