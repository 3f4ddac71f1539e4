use std::{fmt, io};

use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
use msb_agent_protocol::ClientError;
use msb_patches::CopyPathError;
use msb_runtime::{ConnectError, Target};
use tree_archive::{LongPath, PackError, RawPath, UnpackError};

use crate::DisksError;

/// An operation on a sandbox's files failed.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The connection to the sandbox failed.
    #[error(transparent)]
    Reach(#[from] ConnectError),
    /// The guest refused, or did not answer.
    #[error(transparent)]
    Guest(#[from] ClientError),
    /// The operation needs a running machine.
    #[error(
        "sandbox {name} is stopped: its files can be read, but they can be changed only while it is \
         running"
    )]
    Stopped {
        /// Name of the sandbox.
        name: String,
    },
    /// The files are those of a snapshot.
    #[error("snapshot {name} is read-only")]
    Snapshot {
        /// Name of the sandbox and of its snapshot.
        name: String,
    },
    /// The path is covered by a mount, so it is not on the sandbox's own disk.
    #[error(
        "cannot read {path} of sandbox {name}: it concerns the mount at {target}, which is visible \
         only while the sandbox is running"
    )]
    Mounted {
        /// The path in the sandbox.
        path: RawPath,
        /// Name of the sandbox.
        name: String,
        /// The target of the mount.
        target: Target,
    },
    /// A mount lies below the directory, so its content is not on the sandbox's own disk.
    #[error(
        "cannot read all of {path} of sandbox {name}: it contains the mount at {target}, which is \
         visible only while the sandbox is running; --one-file-system (-x) leaves mounts out"
    )]
    MountBelow {
        /// The path of the directory.
        path: RawPath,
        /// Name of the sandbox.
        name: String,
        /// The target of the mount.
        target: Target,
    },
    /// The path is too long for an archive.
    #[error(transparent)]
    LongPath(#[from] LongPath),
    /// The disks of a stopped sandbox cannot be read.
    #[error("cannot read the disks of sandbox {name}")]
    Disks {
        /// Name of the sandbox.
        name: String,
        /// The disk's error, or the store's.
        #[source]
        source: DisksError,
    },
    /// A file of a stopped sandbox cannot be read.
    #[error("cannot {action} '{path}'")]
    Path {
        /// The failed operation, a verb such as `read`.
        action: &'static str,
        /// The path in the sandbox, or in the archive that was made of it.
        path: RawPath,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// A directory has more names than the listing's memory limit permits.
    #[error("the names in the directory '{path}' have more than {limit_bytes} bytes together")]
    TooManyNames {
        /// The path of the directory.
        path: RawPath,
        /// The limit of names, link targets and file attributes, in bytes.
        limit_bytes: usize,
    },
    /// The agent answered with a name or an attribute that no file has.
    #[error("the guest's agent answered with {fault}")]
    Answer {
        /// The name or attribute, escaped.
        fault: String,
    },
    /// A task on this host panicked or was cancelled.
    #[error("the operation was cancelled")]
    BrokenOff,
}

/// One of the two sides of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// The host that msb runs on.
    Host,
    /// The sandbox with this name.
    Sandbox {
        /// Name of the sandbox.
        name: String,
    },
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("on this host"),
            Self::Sandbox { name } => write!(f, "in sandbox {name}"),
        }
    }
}

/// A copy between host and sandbox failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// An operation failed on one of the two sides: a path may belong to either.
    #[error("{side}")]
    On {
        /// The side that failed.
        side: Side,
        /// The error on that side.
        #[source]
        source: Box<Self>,
    },
    /// The sandbox's side failed.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A path cannot be copied from, or to.
    #[error(transparent)]
    Path(#[from] CopyPathError),
    /// The destination of an archive is not a directory.
    #[error("cannot unpack an archive in '{path}', which is not a directory")]
    NotDirectory {
        /// The path of the destination.
        path: RawPath,
    },
    /// The host's files cannot be packed.
    #[error("cannot read the source")]
    Pack(#[from] PackError),
    /// The archive from the sandbox cannot be unpacked.
    #[error("cannot write the destination")]
    Unpack(#[from] UnpackError),
}

impl FilesError {
    /// Returns true if the message itself names the sandbox.
    const fn names_its_sandbox(&self) -> bool {
        match self {
            Self::Reach(_)
            | Self::Stopped { .. }
            | Self::Snapshot { .. }
            | Self::Mounted { .. }
            | Self::MountBelow { .. }
            | Self::Disks { .. } => true,
            Self::Guest(_)
            | Self::LongPath(_)
            | Self::Path { .. }
            | Self::TooManyNames { .. }
            | Self::Answer { .. }
            | Self::BrokenOff => false,
        }
    }
}

impl CopyError {
    /// Returns the error as one of this host's side.
    pub(super) fn on_host(error: impl Into<Self>) -> Self {
        Self::On {
            side: Side::Host,
            source: Box::new(error.into()),
        }
    }

    /// Returns the error as one of a sandbox's side.
    pub(super) fn in_sandbox(name: &str, error: impl Into<Self>) -> Self {
        match error.into() {
            Self::Files(error) if error.names_its_sandbox() => Self::Files(error),
            error => Self::On {
                side: Side::Sandbox {
                    name: name.to_owned(),
                },
                source: Box::new(error),
            },
        }
    }
}

impl Diagnose for FilesError {
    fn diagnosis(&self) -> Diagnosis {
        let not_running = |name| Diagnosis::new(ErrorKind::NotRunning).detail("name", name);
        match self {
            Self::Reach(ConnectError::NotRunning { name } | ConnectError::Starting { name })
            | Self::Mounted { name, .. }
            | Self::MountBelow { name, .. } => not_running(name),
            Self::Reach(source) => source.diagnosis(),
            Self::Guest(source) => source.diagnosis(),
            Self::Stopped { name } => not_running(name).hint(Hint::start(name)),
            Self::Snapshot { name } => {
                Diagnosis::new(ErrorKind::InvalidArgument).detail("name", name)
            }
            Self::LongPath(_) | Self::TooManyNames { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
            Self::Disks { source, .. } => source.diagnosis(),
            Self::Path { path, source, .. } => {
                Diagnosis::of_path(source).detail("path", path.to_string())
            }
            Self::Answer { .. } | Self::BrokenOff => Diagnosis::default(),
        }
    }
}

impl Diagnose for CopyError {
    fn diagnosis(&self) -> Diagnosis {
        let of = |kind, path: &RawPath| Diagnosis::new(kind).detail("path", path.to_string());
        match self {
            Self::On { source, .. } => source.diagnosis(),
            Self::Files(source) => source.diagnosis(),
            Self::Path(source) => source.diagnosis(),
            Self::NotDirectory { path } => of(ErrorKind::InvalidArgument, path),
            Self::Pack(source) => Diagnosis::of_foreign(source),
            Self::Unpack(UnpackError::OverDirectory { path } | UnpackError::OverFile { path }) => {
                of(ErrorKind::PathExists, path)
            }
            Self::Unpack(source) => Diagnosis::of_foreign(source),
        }
    }
}

#[cfg(test)]
mod tests;
