use std::error::Error;
use std::time::Duration;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use ttrpc::Code;

/// The machine of a pod did not do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// The specification asks for a feature that msb does not have.
    #[error("{0}")]
    Refused(String),
    /// The container or the process does not exist.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The machine has ended.
    #[error("the virtual machine has ended")]
    Ended,
    /// The machine did not answer in time.
    #[error("the virtual machine did not answer within {0:?}")]
    TimedOut(Duration),
    /// Another error.
    #[error(transparent)]
    Other(#[from] Box<dyn Error + Send + Sync>),
}

impl PodError {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Refused(_) => Code::InvalidArgument,
            Self::NotFound(_) => Code::NotFound,
            Self::Ended => Code::FailedPrecondition,
            Self::TimedOut(_) => Code::DeadlineExceeded,
            Self::Other(_) => Code::Unknown,
        }
    }
}

impl Diagnose for PodError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Refused(_) => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::NotFound(_) => Diagnosis::new(ErrorKind::NotFound),
            Self::Ended => Diagnosis::new(ErrorKind::SandboxEnded),
            Self::TimedOut(_) => Diagnosis::new(ErrorKind::BootTimeout),
            Self::Other(_) => Diagnosis::default(),
        }
    }
}
