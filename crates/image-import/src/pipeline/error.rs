use std::io;

use diagnosis::{Diagnose, Diagnosis};
use oci_image::Digest;
use oci_layers::Exceeded;
use oci_registry::RegistryError;

use super::compression::Compression;
use crate::hints::{of_registry, of_source};

/// An error while a layer is converted to an artifact. No file of the layer remains.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The registry did not deliver the blob.
    #[error("cannot download it")]
    Download(#[source] RegistryError),
    /// The blob cannot be read from its archive.
    #[error("cannot read it")]
    Read {
        /// Cause reported by the archive or the host.
        #[source]
        source: io::Error,
    },
    /// The artifact cannot be written.
    #[error("cannot write its image")]
    Io(#[source] io::Error),
    /// msb does not support the blob's compression.
    #[error("{compression} compression is not supported")]
    Compression {
        /// Compression that was detected.
        compression: Compression,
    },
    /// The compressed stream is invalid.
    #[error("the {compression} stream is corrupt")]
    Broken {
        /// Compression that was detected.
        compression: Compression,
        /// Cause reported by the decompressor.
        #[source]
        source: io::Error,
    },
    /// The layer exceeds a limit.
    #[error("it exceeds a limit")]
    Limit(#[source] Exceeded),
    /// The blob's length differs from the manifest.
    #[error("it has at least {actual_bytes} bytes, the manifest says {expected_bytes}")]
    BlobSize {
        /// Length in the manifest, in bytes.
        expected_bytes: u64,
        /// Number of bytes that were read.
        actual_bytes: u64,
    },
    /// The blob's digest differs from the manifest.
    #[error("its blob has digest {actual}, expected {expected}")]
    BlobDigest {
        /// Digest in the manifest.
        expected: Digest,
        /// Digest of the blob that was read.
        actual: Digest,
    },
    /// The digest of the blob's content differs from the config.
    #[error("its content has digest {actual}, the config's diff ID is {expected}")]
    DiffId {
        /// Diff ID in the config.
        expected: Digest,
        /// Digest of the decompressed content.
        actual: Digest,
    },
    /// The layer's tar stream is not valid.
    #[error("cannot read its tar stream")]
    Layer(#[source] oci_layers::LayerError),
    /// The layer's tree cannot be stored.
    #[error("cannot store its tree")]
    Write(#[source] erofs_writer::WriteError),
    /// The conversion was stopped because something else failed first.
    #[error("it was cancelled because another part failed")]
    Abandoned,
}

impl Diagnose for ConvertError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Download(source) => of_registry(source),
            Self::Read { source } | Self::Io(source) | Self::Broken { source, .. } => {
                of_source(source)
            }
            Self::Limit(source) => of_source(source),
            Self::Layer(source) => of_source(source),
            Self::Write(source) => of_source(source),
            Self::Compression { .. }
            | Self::BlobSize { .. }
            | Self::BlobDigest { .. }
            | Self::DiffId { .. }
            | Self::Abandoned => Diagnosis::default(),
        }
    }
}
