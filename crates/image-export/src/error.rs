use std::io;
use std::path::PathBuf;

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

impl SaveError {
    /// Returns a hint for the user; `None` if there is no remedy.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Find(error) => error.hint(),
            Self::Documents { source, .. } => source.hint(),
            Self::Layer { source, .. } => source.hint(),
            Self::Content { source, .. } if source.kind() == io::ErrorKind::InvalidData => {
                Some("repair the store with msb image verify --repair".to_owned())
            }
            Self::Exists { .. } => Some("choose another path with -o, or remove it".to_owned()),
            Self::NeedsPath => Some("name a new directory with -o DIR".to_owned()),
            Self::Content { .. } | Self::Output(_) | Self::Cancelled | Self::Store(_) => None,
        }
    }
}
