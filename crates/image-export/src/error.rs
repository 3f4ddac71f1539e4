use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use image_store::{DocumentsError, FindError, LayerTarError};

/// An error that ended the writing of an archive. No file remains of it.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// An image is not in the store.
    #[error("cannot save the image")]
    Find(#[from] FindError),
    /// The manifest or the config of an image cannot be read.
    #[error("cannot save {image}")]
    Documents {
        /// Name of the image.
        image: String,
        /// Cause reported by the store.
        #[source]
        source: DocumentsError,
    },
    /// A layer's tar cannot be opened.
    #[error("cannot save {image}")]
    Layer {
        /// Name of the image.
        image: String,
        /// Cause reported by the store.
        #[source]
        source: LayerTarError,
    },
    /// A layer or another file of the archive cannot be read.
    #[error("cannot read {name} of the archive")]
    Content {
        /// Name of the file in the archive.
        name: String,
        /// Cause reported by the file or by the layer's tar.
        #[source]
        source: io::Error,
    },
    /// The archive cannot be written.
    #[error("cannot write the archive")]
    Output(#[source] io::Error),
    /// A directory is to be written at a path that exists.
    #[error("cannot write a directory at {}: it already exists", .path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// A directory cannot be written to a stream.
    #[error("an oci-dir is a directory, which cannot be written to standard output")]
    NeedsPath,
    /// The operation was cancelled.
    #[error("it was cancelled")]
    Cancelled,
    /// The store cannot be read or written.
    #[error("cannot use the store")]
    Store(#[source] io::Error),
}

impl Diagnose for SaveError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Find(source) => source.diagnosis(),
            Self::Documents { source, .. } => source.diagnosis(),
            Self::Layer { source, .. } => source.diagnosis(),
            Self::Content { source, .. } if source.kind() == io::ErrorKind::InvalidData => source
                .diagnosis()
                .hint("repair the store with msb image verify --repair"),
            Self::Output(source) if source.kind() == io::ErrorKind::NotFound => {
                Diagnosis::new(ErrorKind::PathNotFound)
            }
            Self::Exists { .. } => Diagnosis::new(ErrorKind::PathExists)
                .hint("choose another path with -o, or remove it"),
            Self::NeedsPath => {
                Diagnosis::new(ErrorKind::InvalidArgument).hint("name a new directory with -o DIR")
            }
            Self::Content { source, .. } | Self::Output(source) | Self::Store(source) => {
                source.diagnosis()
            }
            Self::Cancelled => Diagnosis::default(),
        }
    }
}
