use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use tree_archive::RawPath;

/// A path of a copy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CopyPathError {
    /// A file of this host cannot be used.
    #[error("cannot {action} {}", path.display())]
    Host {
        /// The failed operation, a verb such as `read`.
        action: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// A path is empty.
    #[error("cannot copy an empty path")]
    EmptyPath,
    /// A directory cannot replace a file.
    #[error("cannot copy a directory onto '{path}', which is a file")]
    DirectoryOntoFile {
        /// The path of the destination.
        path: RawPath,
    },
    /// The directory to copy into does not exist.
    #[error("cannot copy into the directory '{path}', which does not exist")]
    NoDirectory {
        /// The path of the missing directory.
        path: RawPath,
    },
    /// The path has a loop of symlinks, or too many of them.
    #[error("'{path}' leads through too many symlinks")]
    Loop {
        /// The path with the symlinks.
        path: RawPath,
    },
}

impl Diagnose for CopyPathError {
    fn diagnosis(&self) -> Diagnosis {
        let of = |kind, path: &RawPath| Diagnosis::new(kind).detail("path", path.to_string());
        match self {
            Self::Host { path, source, .. } => Diagnosis::of_path(source).detail("path", path),
            Self::EmptyPath => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::NoDirectory { path } => of(ErrorKind::PathNotFound, path),
            Self::DirectoryOntoFile { path } | Self::Loop { path } => {
                of(ErrorKind::InvalidArgument, path)
            }
        }
    }
}
