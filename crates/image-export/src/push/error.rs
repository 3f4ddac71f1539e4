use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use image_store::{DocumentsError, LayerTarError};
use oci_image::Digest;
use oci_registry::RegistryError;

/// An error of a push. Nothing was published.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The destination is named by a digest, which only the image itself can decide.
    #[error("cannot push to {reference}: a destination has a tag, not a digest")]
    Digest {
        /// Name of the destination.
        reference: String,
    },
    /// The manifest or the config of the image cannot be read.
    #[error("cannot push the image")]
    Documents {
        /// Cause reported by the store.
        #[source]
        source: DocumentsError,
    },
    /// A layer can be had neither from a registry nor from the store.
    #[error("cannot push to {reference}: layer {layer} {}", no_origin(.origin.as_deref()))]
    Layer {
        /// Name of the destination.
        reference: String,
        /// Diff ID of the layer.
        layer: Digest,
        /// The reason why the layer's own registry did not give it; `None` if it was not pulled.
        origin: Option<String>,
        /// Cause reported by the store.
        #[source]
        source: LayerTarError,
    },
    /// A layer's bytes cannot be read from the store, or not be compressed.
    #[error("cannot read layer {layer} of the image")]
    Read {
        /// Diff ID of the layer.
        layer: Digest,
        /// Cause reported by the store or the host.
        #[source]
        source: io::Error,
    },
    /// The registry refuses something or failed permanently.
    #[error("cannot push to {reference}")]
    Registry {
        /// Name of the destination.
        reference: String,
        /// Cause reported by the registry client.
        #[source]
        source: RegistryError,
    },
    /// The store cannot be read.
    #[error("cannot read the store")]
    Store(#[source] io::Error),
}

fn no_origin(origin: Option<&str>) -> String {
    match origin {
        Some(reason) => format!("is neither at its origin ({reason}) nor complete in the store"),
        None => "was not pulled from a registry, and is not complete in the store".to_owned(),
    }
}

impl Diagnose for PushError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Digest { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument).hint("name the destination with a tag")
            }
            Self::Documents { source } => source.diagnosis(),
            Self::Layer { source, .. } => source.diagnosis(),
            // It is the repository that is missing, not the image.
            Self::Registry {
                source: RegistryError::NotFound { .. },
                ..
            } => Diagnosis::new(ErrorKind::RegistryError),
            Self::Registry { source, .. } => source.diagnosis(),
            Self::Read { source, .. } | Self::Store(source) => source.diagnosis(),
        }
    }
}
