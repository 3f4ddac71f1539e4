use std::io;

use msb_agent_protocol::v1::{Failure, FailureKind};

/// Returns the failure of a command whose request is wrong.
pub(super) fn bad_request(message: &str) -> Failure {
    Failure {
        kind: FailureKind::BadRequest.into(),
        message: message.to_owned(),
    }
}

/// Returns the failure of a command in a paused sandbox.
pub(super) fn paused() -> Failure {
    Failure {
        kind: FailureKind::Paused.into(),
        message: "the sandbox is paused".to_owned(),
    }
}

/// Returns the failure of a command that the guest could not start.
pub(super) fn guest_failure(message: &str) -> Failure {
    Failure {
        kind: FailureKind::Guest.into(),
        message: message.to_owned(),
    }
}

/// Returns the failure of a command for which the guest's kernel refused an action.
pub(super) fn refused_action(action: &str, error: &io::Error) -> Failure {
    guest_failure(&format!("cannot {action}: {error}"))
}
