use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rootfs_view::ResolveError;

use crate::CopyPathError;

/// A change to a sandbox's files before its first boot that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// A path in the sandbox cannot be resolved.
    #[error("cannot follow '{path}' in the image")]
    Path {
        /// The path in the sandbox.
        path: String,
        /// The error of the resolution.
        #[source]
        source: ResolveError,
    },
    /// The path to remove does not exist.
    #[error("the image has no '{path}' to remove")]
    NotThere {
        /// The path in the sandbox.
        path: String,
    },
    /// A path that names no file in a directory.
    #[error("'{path}' is not the path of a file in a directory")]
    NoName {
        /// The path in the sandbox.
        path: String,
    },
    /// A mount of the machine hides the path.
    #[error(
        "cannot place '{path}': the sandbox has its own file or directory there, which would hide \
         it"
    )]
    Hidden {
        /// The path in the sandbox.
        path: String,
    },
    /// A directory would replace another kind of file, or the reverse.
    #[error("cannot replace '{path}': a directory and a file cannot replace each other")]
    Mismatch {
        /// The path in the sandbox.
        path: String,
    },
    /// A file or directory of the host cannot be copied.
    #[error("cannot copy {} into the sandbox", source_path.display())]
    Copy {
        /// The path on the host.
        source_path: PathBuf,
        /// The error of the copy.
        #[source]
        source: CopyPathError,
    },
    /// A file of the host cannot be read.
    #[error("cannot read {}", path.display())]
    Host {
        /// The path on the host.
        path: PathBuf,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
    /// The files need more space than the upper disk has.
    #[error(
        "the copied files need {needed_bytes} bytes, the writable disk has {upper_bytes}; enlarge \
         it with --upper-size"
    )]
    TooLarge {
        /// Size of the files, in bytes.
        needed_bytes: u64,
        /// Size of the disk, in bytes. Its own structures take some of it.
        upper_bytes: u64,
    },
}

impl Diagnose for PatchError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Host { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Diagnosis::new(ErrorKind::PathNotFound)
            }
            Self::Copy { source, .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument).caused_by(source.diagnosis())
            }
            Self::Host { .. }
            | Self::Path { .. }
            | Self::NotThere { .. }
            | Self::NoName { .. }
            | Self::Hidden { .. }
            | Self::Mismatch { .. }
            | Self::TooLarge { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
        }
    }
}
