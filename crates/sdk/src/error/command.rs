//! Errors of calls to the supervisor and the guest's agent.

use std::error::Error as StdError;

use msb_agent_protocol::v1::FailureKind;
use msb_agent_protocol::{ClientError, Code, TooLong};

use super::ErrorKind;
use super::meaning::Meaning;

pub(super) fn meaning(cause: &(dyn StdError + 'static)) -> Option<Meaning> {
    if cause.is::<TooLong>() {
        return Some(Meaning::new(ErrorKind::InvalidArgument));
    }
    of_client(cause.downcast_ref::<ClientError>()?)
}

pub(super) fn of_client(error: &ClientError) -> Option<Meaning> {
    Some(Meaning::new(match error {
        ClientError::Unimplemented { .. } | ClientError::Version { .. } => {
            ErrorKind::VersionMismatch
        }
        ClientError::TooLong(_) => ErrorKind::InvalidArgument,
        ClientError::Over(_) => ErrorKind::NotRunning,
        ClientError::Refused(failure) => match failure.kind() {
            FailureKind::CommandNotFound => ErrorKind::CommandNotFound,
            FailureKind::CommandNotExecutable => ErrorKind::NotExecutable,
            FailureKind::BadRequest => ErrorKind::InvalidArgument,
            FailureKind::Guest => ErrorKind::CommandError,
            FailureKind::Paused => ErrorKind::SandboxPaused,
        },
        ClientError::Files { code, .. } => match code {
            Code::NotFound => ErrorKind::PathNotFound,
            Code::AlreadyExists => ErrorKind::PathExists,
            Code::PermissionDenied => ErrorKind::PermissionDenied,
            Code::ResourceExhausted => ErrorKind::OutOfSpace,
            Code::FailedPrecondition | Code::InvalidArgument => ErrorKind::InvalidArgument,
            _ => return None,
        },
        ClientError::Io(_)
        | ClientError::Connection(_)
        | ClientError::Call { .. }
        | ClientError::Cut { .. }
        | ClientError::Pause { .. }
        | ClientError::Silent { .. }
        | ClientError::OutOfTurn => return None,
    }))
}
