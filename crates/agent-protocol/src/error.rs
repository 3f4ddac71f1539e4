use std::error::Error as _;
use std::io;
use std::iter::successors;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use tonic::{Code, Status};

use crate::TooLong;
use crate::heartbeat::SilentPeer;
use crate::v1::{ExitStatus, Failure, FailureKind};

/// The error of a call to a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection to the agent cannot be established.
    #[error("cannot reach the guest's agent")]
    Io(#[source] io::Error),
    /// The connection failed.
    #[error("the connection with the guest's agent failed")]
    Connection(#[source] hyper::Error),
    /// The agent is older than the call.
    #[error(
        "the guest's agent is older than this msb and does not support {call}; stop the sandbox and \
         start it again"
    )]
    Unimplemented {
        /// The name of the call.
        call: &'static str,
    },
    /// The agent's version is not one that this host supports.
    #[error(
        "the guest's agent speaks protocol version {version}, this msb speaks versions {oldest} to \
         {newest}"
    )]
    Version {
        /// The agent's version.
        version: u32,
        /// The oldest version that this host supports.
        oldest: u32,
        /// The host's own version.
        newest: u32,
    },
    /// A command is longer than the agent accepts.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The call failed.
    #[error("the guest's agent did not answer {call}: {message}")]
    Call {
        /// The name of the call.
        call: &'static str,
        /// The message of the gRPC status.
        message: String,
    },
    /// The agent does not answer at all.
    #[error("{message}; msb waited for {call}")]
    Silent {
        /// The name of the call.
        call: &'static str,
        /// The supervisor's message, with the duration of the silence.
        message: String,
    },
    /// The sandbox's process cannot cut its disk, or use merged generations.
    #[error("{message}")]
    Cut {
        /// One line: what failed, and why.
        message: String,
    },
    /// The processes cannot be paused, or continued.
    #[error("{message}")]
    Pause {
        /// One line: what failed, and why.
        message: String,
    },
    /// The agent's answer does not fit the call.
    #[error("the guest's agent sent an unexpected answer")]
    OutOfTurn,
    /// The command ended before a client attached to it.
    #[error("the command has ended")]
    Over(ExitStatus),
    /// The agent reports why it cannot run the command.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// There is no connection with a socket of the guest, or it broke.
    #[error("{message}")]
    Socket {
        /// The error's number on Linux; 0 if it has none.
        errno: i32,
        /// One line: what failed, on which object, and why.
        message: String,
    },
    /// The guest cannot perform a call on files.
    #[error("{message}")]
    Files {
        /// The gRPC code of the reason.
        code: Code,
        /// One line: what failed, on which object, and why.
        message: String,
    },
}

impl Diagnose for ClientError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(match self {
            Self::Io(source) => return source.diagnosis(),
            Self::Connection(source) => return Diagnosis::of_foreign(source),
            Self::TooLong(source) => return source.diagnosis(),
            Self::Unimplemented { .. } | Self::Version { .. } => ErrorKind::VersionMismatch,
            Self::Over(_) => ErrorKind::NotRunning,
            Self::Refused(failure) => match failure.kind() {
                FailureKind::CommandNotFound => ErrorKind::CommandNotFound,
                FailureKind::CommandNotExecutable => ErrorKind::NotExecutable,
                FailureKind::BadRequest => ErrorKind::InvalidArgument,
                FailureKind::Guest => ErrorKind::CommandError,
                FailureKind::Paused => ErrorKind::SandboxPaused,
            },
            Self::Files { code, .. } => match code {
                Code::NotFound => ErrorKind::PathNotFound,
                Code::AlreadyExists => ErrorKind::PathExists,
                Code::PermissionDenied => ErrorKind::PermissionDenied,
                Code::ResourceExhausted => ErrorKind::OutOfSpace,
                Code::FailedPrecondition | Code::InvalidArgument => ErrorKind::InvalidArgument,
                _ => return Diagnosis::default(),
            },
            Self::Call { .. }
            | Self::Cut { .. }
            | Self::Pause { .. }
            | Self::Silent { .. }
            | Self::Socket { .. }
            | Self::OutOfTurn => return Diagnosis::default(),
        })
    }
}

impl ClientError {
    /// Converts the status of a call on files, which may carry a reason of the guest.
    pub(crate) fn for_file_call(call: &'static str) -> impl Fn(Status) -> Self {
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
            _ => Self::for_call(call)(status),
        }
    }

    /// Converts the status of a cut, which the sandbox's process itself refuses.
    pub(crate) fn for_cut(status: Status) -> Self {
        Self::for_disk("the cut of the disk", status)
    }

    /// Converts the status of a merge, which the sandbox's process itself refuses.
    pub(crate) fn for_merge(status: Status) -> Self {
        Self::for_disk("the merge of generations", status)
    }

    fn for_disk(call: &'static str, status: Status) -> Self {
        match status.code() {
            Code::FailedPrecondition | Code::ResourceExhausted | Code::Internal => Self::Cut {
                message: status.message().to_owned(),
            },
            _ => Self::for_call(call)(status),
        }
    }

    /// Converts the status of a pause, which the guest or the sandbox's process may refuse.
    pub(crate) fn for_pause(call: &'static str) -> impl Fn(Status) -> Self {
        move |status| match status.code() {
            Code::FailedPrecondition | Code::Unavailable => Self::Pause {
                message: status.message().to_owned(),
            },
            _ => Self::for_call(call)(status),
        }
    }

    /// Converts the status of the start of a job.
    pub(crate) fn for_job(status: Status) -> Self {
        match status.code() {
            Code::Aborted => Self::Refused(Failure {
                kind: FailureKind::Paused.into(),
                message: status.message().to_owned(),
            }),
            _ => Self::for_call("start a job")(status),
        }
    }

    pub(crate) fn for_call(call: &'static str) -> impl Fn(Status) -> Self {
        move |status| match status.code() {
            Code::Unimplemented => Self::Unimplemented { call },
            // The supervisor sends this code if the agent is silent.
            Code::DeadlineExceeded => Self::Silent {
                call,
                message: status.message().to_owned(),
            },
            _ => match silence(&status) {
                Some(message) => Self::Silent { call, message },
                None => Self::Call {
                    call,
                    message: status.message().to_owned(),
                },
            },
        }
    }
}

/// Returns the message of a connection that was given up because the peer was silent; `None` if the
/// call failed for another reason. HTTP/2 passes on the text of such an error only.
fn silence(status: &Status) -> Option<String> {
    let first = status.source();
    let errors = successors(first, |&error| error.source());
    let mut messages = errors.map(ToString::to_string);
    messages.find(|message| SilentPeer::is_message(message))
}
