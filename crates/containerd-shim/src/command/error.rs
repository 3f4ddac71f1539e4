use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};

use crate::bundle::BundleError;

/// A command of the shim failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// An argument is not known or has no value.
    #[error("{0:?} is not an argument: a shim is started by containerd")]
    Argument(String),
    /// A needed argument is missing.
    #[error("the argument {0} is missing")]
    Missing(&'static str),
    /// An id cannot be a name of a file.
    #[error("{0:?} is not an id")]
    Id(String),
    /// The input is too long.
    #[error("standard input has more than {limit_bytes} bytes")]
    InputTooLong {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The host refused an operation.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, a verb and an object.
        action: &'static str,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// The bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

impl CommandError {
    pub(crate) fn io(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

impl Diagnose for CommandError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Argument(_) | Self::Missing(_) | Self::Id(_) | Self::InputTooLong { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
            Self::Io { source, .. } => source.diagnosis(),
            Self::Bundle(source) => source.diagnosis(),
        }
    }
}
