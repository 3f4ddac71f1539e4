use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rootfs_view::ContentError;
use tree_diff::LayerError;

use crate::DiffError;

/// A reason why a sandbox cannot become an image.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The disks of the sandbox, or of the image, cannot be read.
    #[error("cannot commit sandbox {name}")]
    Disks {
        /// Name of the sandbox.
        name: String,
        /// The error of the disks.
        #[source]
        source: DiffError,
    },
    /// The changes do not make a layer.
    #[error("cannot commit sandbox {name}")]
    Layer {
        /// Name of the sandbox.
        name: String,
        /// The error of the layer.
        #[source]
        source: LayerError<ContentError>,
    },
}

/// The record of the last image that was made of a sandbox cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}, the record of the last image that was created from the sandbox", .path.display())]
pub struct CommittedError {
    /// Path of the record.
    pub path: PathBuf,
    /// The error of the host, or that of the content.
    #[source]
    pub source: io::Error,
}

impl Diagnose for CommitError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Disks { source, .. } => source.diagnosis(),
            Self::Layer { source, .. } => match source {
                LayerError::ReservedName { path } => Diagnosis::new(ErrorKind::InvalidArgument)
                    .detail("path", path)
                    .hint("rename the file or remove it in the sandbox"),
                LayerError::LongPath { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
                LayerError::Compare(_) | LayerError::Content { .. } | LayerError::Write(_) => {
                    Diagnosis::of_foreign(source)
                }
            },
        }
    }
}

impl Diagnose for CommittedError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::default()
            .hint(format!(
                "remove {}: the next image is then a child of the sandbox's own image",
                self.path.display()
            ))
            .caused_by(self.source.diagnosis())
    }
}
