use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rootfs_view::ContentError;
use tree_diff::{CompareError, InvalidScope};

use crate::DisksError;

/// A reason why two root filesystems cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// The disks of a sandbox cannot be read.
    #[error("cannot read the disks of sandbox {name}")]
    Sandbox {
        /// Name of the sandbox.
        name: String,
        /// The disk's error, or the store's.
        #[source]
        source: DisksError,
    },
    /// The files of an image cannot be read.
    #[error("cannot read the disks of image {name}")]
    Image {
        /// Name of the image.
        name: String,
        /// The disk's error, or the store's.
        #[source]
        source: DisksError,
    },
    /// The disk that a sandbox began with cannot be read.
    #[error("cannot read the initial files of sandbox {name}")]
    Base {
        /// Name of the sandbox.
        name: String,
        /// The disk's error, or the store's.
        #[source]
        source: DisksError,
    },
    /// A path has a component `..`.
    #[error("cannot compare below a path")]
    Scope(#[from] InvalidScope),
    /// A path exists on neither side.
    #[error("neither side has '{}'", .path.escape_ascii())]
    NotThere {
        /// The path.
        path: Vec<u8>,
    },
    /// The comparison failed.
    #[error("cannot compare the files")]
    Compare(#[from] CompareError<ContentError>),
}

impl Diagnose for DiffError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Sandbox { source, .. } | Self::Image { source, .. } => source.diagnosis(),
            Self::Base { name, source } => Diagnosis::new(ErrorKind::InternalError)
                .hint(format!(
                    "compare the sandbox with its image: msb diff IMAGE {name}, or --base IMAGE with \
                     apply and discard"
                ))
                .caused_by(source.diagnosis()),
            Self::Scope(_) => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::NotThere { path } => {
                Diagnosis::new(ErrorKind::PathNotFound).detail("path", path)
            }
            Self::Compare(source) => Diagnosis::of_foreign(source),
        }
    }
}
