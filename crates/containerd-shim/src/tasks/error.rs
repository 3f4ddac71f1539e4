use std::error::Error as _;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use ttrpc::{Code, Status};

use crate::bundle::BundleError;
use crate::{PodError, ProcessName, StdioError};

/// A call on a task failed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The container or the process does not exist.
    #[error("{0} does not exist")]
    NotFound(ProcessName),
    /// The container or the process exists already.
    #[error("{0} already exists")]
    Exists(ProcessName),
    /// The process has ended.
    #[error("{0} has already ended")]
    Ended(ProcessName),
    /// The process is in another state.
    #[error("cannot {action} {name}: {reason}")]
    State {
        /// The refused action, a verb.
        action: &'static str,
        /// The process.
        name: ProcessName,
        /// The state that forbids it, a clause.
        reason: &'static str,
    },
    /// The shim has too many processes.
    #[error("the pod has {limit} processes, which is the limit")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// A field of the request cannot be used.
    #[error("{0}")]
    Invalid(&'static str),
    /// The call is not supported.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// The bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The input or output cannot be used.
    #[error(transparent)]
    Stdio(#[from] StdioError),
    /// The machine failed.
    #[error("cannot {action} {name}")]
    Pod {
        /// The failed action, a verb.
        action: &'static str,
        /// The process.
        name: ProcessName,
        /// The error of the machine.
        #[source]
        source: PodError,
    },
    /// A task of the shim panicked.
    #[error("the shim failed")]
    Defect,
}

impl TaskError {
    pub(crate) fn pod(action: &'static str, name: &ProcessName) -> impl FnOnce(PodError) -> Self {
        let name = name.clone();
        move |source| Self::Pod {
            action,
            name,
            source,
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::NotFound(_) | Self::Ended(_) => Code::NotFound,
            Self::Exists(_) => Code::AlreadyExists,
            Self::State { .. } => Code::FailedPrecondition,
            Self::TooMany { .. } => Code::ResourceExhausted,
            Self::Invalid(_) | Self::Bundle(_) | Self::Stdio(_) => Code::InvalidArgument,
            Self::Unsupported(_) => Code::Unimplemented,
            Self::Pod { source, .. } => source.code(),
            Self::Defect => Code::Internal,
        }
    }
}

impl From<TaskError> for Status {
    /// Returns the status with the error and its causes.
    fn from(error: TaskError) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self::new(error.code(), text)
    }
}

impl Diagnose for TaskError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NotFound(_) | Self::Ended(_) => Diagnosis::new(ErrorKind::NotFound),
            Self::Exists(_) => Diagnosis::new(ErrorKind::AlreadyExists),
            Self::State { .. } => Diagnosis::new(ErrorKind::Busy),
            Self::TooMany { .. } | Self::Invalid(_) | Self::Unsupported(_) => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
            Self::Bundle(source) => source.diagnosis(),
            Self::Stdio(source) => source.diagnosis(),
            Self::Pod { source, .. } => source.diagnosis(),
            Self::Defect => Diagnosis::default(),
        }
    }
}
