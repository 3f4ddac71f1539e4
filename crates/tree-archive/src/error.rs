use std::io;

use fstree::InvalidName;
use tar_stream::{RawPath, ReadError, WriteError};

/// A reason why files were not packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file or its attributes cannot be read.
    #[error("cannot {action} '{path}'")]
    File {
        /// The attempted action, a verb such as "open".
        action: &'static str,
        /// The file's path in the archive.
        path: RawPath,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A file's path is too long.
    #[error(transparent)]
    LongPath(#[from] LongPath),
    /// The archive cannot be written.
    #[error("cannot write the archive")]
    Output(#[source] io::Error),
}

/// A path that is longer than a reader of the archive accepts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot pack '{start}...': its path has more than {limit_bytes} bytes")]
pub struct LongPath {
    /// The first bytes of the path.
    pub start: RawPath,
    /// The limit of a path's length, in bytes.
    pub limit_bytes: usize,
}

/// A reason why an archive was not unpacked to its end. Entries that were unpacked before it stay.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The archive is malformed or exceeds a limit, or its stream fails.
    #[error("cannot read the archive")]
    Archive(#[source] ReadError),
    /// A file or its attributes cannot be made.
    #[error("cannot {action} '{path}'")]
    File {
        /// The attempted action, a verb such as "create".
        action: &'static str,
        /// The file's path in the archive.
        path: RawPath,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A path in the archive is not allowed.
    #[error("'{path}' in the archive is refused")]
    Path {
        /// The path in the archive.
        path: RawPath,
        /// The fault of the path.
        #[source]
        source: InvalidPath,
    },
    /// A directory exists where another file should be made.
    #[error("cannot overwrite the directory '{path}' with something else")]
    OverDirectory {
        /// The path in the archive.
        path: RawPath,
    },
    /// A file exists where a directory should be made.
    #[error("cannot overwrite '{path}', which is not a directory, with a directory")]
    OverFile {
        /// The path in the archive.
        path: RawPath,
    },
}

/// A fault of a path in an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// The path has a component `..`.
    #[error("it contains '..'")]
    Upwards,
    /// A component of the path is not a valid file name.
    #[error("it is not a valid path")]
    Name(#[from] InvalidName),
    /// The path is not below `UnpackOptions::only_below`.
    #[error("it is outside the requested path")]
    Foreign,
    /// The path is the destination itself, but the entry is not a directory.
    #[error("it is the destination itself and not a directory")]
    Destination,
}

impl From<WriteError> for PackError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Output(source) => Self::Output(source),
            WriteError::Content { path, source } => Self::File {
                action: "read",
                path,
                source,
            },
            WriteError::XattrName { ref path, .. } | WriteError::DeviceNumber { ref path, .. } => {
                Self::File {
                    action: "pack",
                    path: path.clone(),
                    source: error.into(),
                }
            }
        }
    }
}

impl PackError {
    /// Returns the system's error that caused this one. `None` if the cause is another.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Self::File { source, .. } | Self::Output(source) => Some(source),
            Self::LongPath(_) => None,
        }
    }
}

impl UnpackError {
    /// Returns the system's error that caused this one. `None` if the cause is another.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Self::File { source, .. } | Self::Archive(ReadError::Io { source, .. }) => Some(source),
            _ => None,
        }
    }
}
