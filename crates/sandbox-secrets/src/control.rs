//! Requests to the network process of a running sandbox.

use std::path::Path;
use std::time::Duration;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::{
    ControlAnswer, ControlClient, ControlError, ControlRequest, ResolvedSecret, SecretName,
    SecretState,
};

/// The time that the network process may take to answer. It delays requests that come too fast.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A failed request to the network process.
#[derive(Debug, thiserror::Error)]
pub enum ControlFailure {
    /// The process cannot be reached, or has ended.
    #[error(transparent)]
    Unreachable(#[from] ControlError),
    /// The process refuses the request.
    #[error("the sandbox's network process refuses the request: {message}")]
    Refused {
        /// The reason, in words of the process.
        message: String,
    },
    /// The answer is one to another request, or the request was given up.
    #[error("the sandbox's network process gave no answer to the request")]
    Unanswered,
}

impl Diagnose for ControlFailure {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Unreachable(source) => source.diagnosis(),
            Self::Refused { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::Unanswered => Diagnosis::default(),
        }
    }
}

/// A value, and the time after which it must not be used.
#[derive(Debug)]
pub(crate) struct LastingValue {
    pub(crate) resolved: ResolvedSecret,
    /// In milliseconds from its arrival; `None` if the value does not expire.
    pub(crate) expires_ms: Option<u64>,
}

/// Connects to the network process.
pub(crate) fn connect(socket: &Path) -> Result<ControlClient, ControlError> {
    ControlClient::connect(socket, ANSWER_TIMEOUT)
}

/// Gives the network process a value.
pub(crate) fn set(client: &mut ControlClient, value: LastingValue) -> Result<(), ControlFailure> {
    let ResolvedSecret { name, value: text } = value.resolved;
    done(client.send(ControlRequest::Set {
        name,
        value: text,
        expires_ms: value.expires_ms,
    })?)
}

/// Takes a value from the network process.
pub(crate) fn remove(client: &mut ControlClient, name: SecretName) -> Result<(), ControlFailure> {
    done(client.send(ControlRequest::Remove { name })?)
}

/// Returns the states of the secrets.
pub(crate) fn states(client: &mut ControlClient) -> Result<Vec<SecretState>, ControlFailure> {
    match client.send(ControlRequest::List)? {
        ControlAnswer::Secrets(states) => Ok(states),
        other => Err(unexpected(other)),
    }
}

fn done(answer: ControlAnswer) -> Result<(), ControlFailure> {
    match answer {
        ControlAnswer::Done => Ok(()),
        other => Err(unexpected(other)),
    }
}

fn unexpected(answer: ControlAnswer) -> ControlFailure {
    match answer {
        ControlAnswer::Refused { message } => ControlFailure::Refused { message },
        ControlAnswer::Done | ControlAnswer::Secrets(_) => ControlFailure::Unanswered,
    }
}
