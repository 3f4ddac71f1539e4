use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_agent_protocol::ClientError;
use msb_jail::JailError;
use msb_runtime::LaunchSpecError;
use msb_sandbox_model::AGENT_VARIABLE;

/// A socket of the host cannot be forwarded.
#[derive(Debug, thiserror::Error)]
pub enum SocketsError {
    /// The host has no SSH agent.
    #[error("the SSH agent of the host cannot be forwarded: {AGENT_VARIABLE} is not set")]
    NoAgent,
    /// A path does not lead to a socket.
    #[error("cannot forward the socket {}", .path.display())]
    Host {
        /// The path on the host.
        path: PathBuf,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The socket is that of a container engine.
    #[error(
        "the socket {} is not forwarded: it is the host, because its clients run anything there as root",
        .path.display()
    )]
    Engine {
        /// The path on the host.
        path: PathBuf,
    },
    /// A process of root listens on the socket, and this process is not root's.
    #[error(
        "the socket {} is not forwarded: root listens on it, and its clients may act as root on the host",
        .path.display()
    )]
    OfRoot {
        /// The path on the host.
        path: PathBuf,
    },
    /// The socket is in the home of msb.
    #[error(
        "the socket {} is not forwarded: whoever reaches the sockets of msb controls its sandboxes",
        .path.display()
    )]
    OfMsb {
        /// The path on the host.
        path: PathBuf,
    },
    /// The path leads through a directory that the guest can change.
    #[error(
        "the socket {} is not forwarded: the sandbox can change {}, and could lead the path to another socket",
        .path.display(), .directory.display()
    )]
    Shared {
        /// The path on the host.
        path: PathBuf,
        /// The directory that is shared with the guest.
        directory: PathBuf,
    },
    /// The guest cannot listen.
    #[error("cannot offer a socket at '{path}' in the sandbox")]
    Guest {
        /// The path in the guest.
        path: String,
        /// The error that caused it.
        #[source]
        source: Box<ClientError>,
    },
    /// The process cannot work.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, a verb and an object.
        action: &'static str,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The description of the machine cannot be read.
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    /// The process cannot give up its privileges.
    #[error("cannot confine the process of forwarded sockets")]
    Jail(#[from] JailError),
}

impl Diagnose for SocketsError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoAgent
            | Self::Engine { .. }
            | Self::OfRoot { .. }
            | Self::OfMsb { .. }
            | Self::Shared { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::Host { source, .. } => Diagnosis::of_path(source),
            Self::Io { source, .. } => source.diagnosis(),
            Self::Guest { source, .. } => source.diagnosis(),
            Self::LaunchSpec(_) | Self::Jail(_) => Diagnosis::default(),
        }
    }
}
