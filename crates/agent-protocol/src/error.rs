use std::io;

use tonic::{Code, Status};

use crate::TooLong;
use crate::v1::{ExitStatus, Failure};

/// Why a call got no good answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The agent cannot be reached.
    #[error("cannot reach the guest's agent")]
    Io(#[source] io::Error),
    /// The connection failed.
    #[error("the connection with the guest's agent failed")]
    Connection(#[source] hyper::Error),
    /// The agent is older than the call.
    #[error("the guest's agent is too old for this: {call}; stop the sandbox and start it again")]
    Unimplemented {
        /// What was asked for.
        call: &'static str,
    },
    /// The agent speaks a version that this host does not.
    #[error("the guest's agent speaks version {version}, this msb {oldest} to {newest}")]
    Version {
        /// The agent's version.
        version: u32,
        /// The oldest that this host talks to.
        oldest: u32,
        /// This host's own.
        newest: u32,
    },
    /// A command is longer than the agent takes.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The call failed.
    #[error("the guest's agent gave no answer to {call}: {message}")]
    Call {
        /// What was asked for.
        call: &'static str,
        /// What came instead.
        message: String,
    },
    /// The agent says nothing at all.
    #[error("{message}; msb waited for {call}")]
    Silent {
        /// What was asked for.
        call: &'static str,
        /// Since when.
        message: String,
    },
    /// The agent answered something else.
    #[error("the guest's agent answered out of turn")]
    OutOfTurn,
    /// The command ended before anybody joined it.
    #[error("the command has ended")]
    Over(ExitStatus),
    /// The agent says why not.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The guest cannot do that with its files.
    #[error("{message}")]
    Files {
        /// The kind of reason.
        code: Code,
        /// One line: what failed, on what, why.
        message: String,
    },
}

impl ClientError {
    /// Of a call on files, whose answer may be why not.
    pub(crate) fn of_files(call: &'static str) -> impl Fn(Status) -> Self {
        move |status| match status.code() {
            Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::InvalidArgument
            | Code::Aborted => Self::Files {
                code: status.code(),
                message: status.message().to_owned(),
            },
            _ => Self::of(call)(status),
        }
    }

    pub(crate) fn of(call: &'static str) -> impl Fn(Status) -> Self {
        move |status| match status.code() {
            Code::Unimplemented => Self::Unimplemented { call },
            // The sandbox's process says so, of the agent.
            Code::DeadlineExceeded => Self::Silent {
                call,
                message: status.message().to_owned(),
            },
            _ => Self::Call {
                call,
                message: status.message().to_owned(),
            },
        }
    }
}
