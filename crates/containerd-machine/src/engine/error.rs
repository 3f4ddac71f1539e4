use std::io;
use std::path::PathBuf;

use tonic::{Code, Status};

/// containerd did not answer a question of the shim.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    /// The socket cannot be connected to.
    #[error("cannot connect to containerd at {}", .socket.display())]
    Connect {
        /// The path of the socket.
        socket: PathBuf,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// The connection failed.
    #[error("the connection with containerd failed")]
    Connection(#[source] hyper::Error),
    /// A call failed.
    #[error("containerd cannot return {what}: {message}")]
    Call {
        /// The object that was asked for.
        what: String,
        /// The code of the status.
        code: Code,
        /// The message of the status.
        message: String,
    },
    /// An answer is empty.
    #[error("containerd returned nothing for {what}")]
    Empty {
        /// The object that was asked for.
        what: String,
    },
    /// The namespace cannot be a header.
    #[error("{0:?} is not a namespace of containerd")]
    Namespace(String),
    /// containerd took too long.
    #[error("containerd did not return {what} within {limit_s} s")]
    Late {
        /// The object that was asked for.
        what: String,
        /// The limit, in seconds.
        limit_s: u64,
    },
}

impl EngineError {
    /// Returns the error of a call that asked for an object.
    pub(super) fn call(what: &str) -> impl Fn(Status) -> Self {
        move |status| Self::Call {
            what: what.to_owned(),
            code: status.code(),
            message: status.message().to_owned(),
        }
    }

    /// Returns true if containerd does not have the object.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Call {
                code: Code::NotFound,
                ..
            }
        )
    }
}
