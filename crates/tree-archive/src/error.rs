use std::io;

use fstree::InvalidName;
use oci_layers::{Exceeded, InvalidHeader, LayerError, RawPath};

/// Why files were not packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file cannot be read.
    #[error("cannot {action} '{path}'")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file's path in the archive.
        path: RawPath,
        /// Why.
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

/// A path that is longer than a reader of the archive takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot pack '{start}...': its path has more than {limit_bytes} bytes")]
pub struct LongPath {
    /// How the path begins.
    pub start: RawPath,
    /// How long it may be.
    pub limit_bytes: usize,
}

/// Why an archive was not unpacked, or not to its end. What was unpacked before stays.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It is no good archive.
    #[error("the archive cannot be read")]
    Archive(#[source] ArchiveError),
    /// A file cannot be made.
    #[error("cannot {action} '{path}'")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file's path in the archive.
        path: RawPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A name that must not be.
    #[error("'{path}' in the archive is refused")]
    Path {
        /// The path in the archive.
        path: RawPath,
        /// Why.
        #[source]
        source: InvalidPath,
    },
    /// A directory stands where a file is to go.
    #[error("cannot overwrite the directory '{path}' with something else")]
    OverDirectory {
        /// The path in the archive.
        path: RawPath,
    },
    /// A file stands where a directory is to go.
    #[error("cannot overwrite '{path}', which is no directory, with a directory")]
    OverFile {
        /// The path in the archive.
        path: RawPath,
    },
}

/// What may be wrong with a path in an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// It goes upwards.
    #[error("it has a '..'")]
    Upwards,
    /// A component is no file name.
    #[error("it is no path of files")]
    Name(#[from] InvalidName),
    /// It is not below what was asked for.
    #[error("it is not below what was asked for")]
    Foreign,
    /// It is the destination itself, and no directory.
    #[error("it is the destination itself, and no directory")]
    Destination,
}

/// Why bytes are no good archive. Offsets are from its start.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The stream failed.
    #[error("reading failed at byte {offset_bytes}")]
    Io {
        /// Where.
        offset_bytes: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It ends inside an entry.
    #[error("it ends too early, at byte {offset_bytes}")]
    Truncated {
        /// Where.
        offset_bytes: u64,
    },
    /// A header is malformed.
    #[error("the header at byte {offset_bytes} is invalid")]
    Header {
        /// Where the header starts.
        offset_bytes: u64,
        /// What is wrong with it.
        #[source]
        source: InvalidHeader,
    },
    /// More than memory is given for.
    #[error("at byte {offset_bytes} it is too much")]
    Limit {
        /// Where.
        offset_bytes: u64,
        /// Which limit.
        #[source]
        source: Exceeded,
    },
}

impl From<LayerError> for ArchiveError {
    fn from(error: LayerError) -> Self {
        match error {
            LayerError::Truncated { offset_bytes } => Self::Truncated { offset_bytes },
            LayerError::Header {
                offset_bytes,
                source,
            } => Self::Header {
                offset_bytes,
                source,
            },
            LayerError::Limit {
                offset_bytes,
                source,
            } => Self::Limit {
                offset_bytes,
                source,
            },
            LayerError::Io {
                offset_bytes,
                source,
            } => Self::Io {
                offset_bytes,
                source,
            },
            // Only layers have these.
            other => Self::Io {
                offset_bytes: 0,
                source: io::Error::other(other),
            },
        }
    }
}

impl PackError {
    /// The error of the host or guest behind it, if one is.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Self::File { source, .. } | Self::Output(source) => Some(source),
            Self::LongPath(_) => None,
        }
    }
}

impl UnpackError {
    /// The error of the host or guest behind it, if one is.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Self::File { source, .. } | Self::Archive(ArchiveError::Io { source, .. }) => {
                Some(source)
            }
            _ => None,
        }
    }
}
