use std::io;

use oci_layers::Exceeded;

use super::compression::Compression;
use crate::digest::Digest;
use crate::registry::RegistryError;

/// Why a layer did not become an artifact. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// Its registry did not deliver it.
    #[error("cannot download it")]
    Download(#[source] RegistryError),
    /// Its archive cannot be read.
    #[error("cannot read it")]
    Read {
        /// What the archive, or the host, said.
        #[source]
        source: io::Error,
    },
    /// The artifact cannot be written.
    #[error("cannot write its image")]
    Io(#[source] io::Error),
    /// Its compression is not one that msb reads.
    #[error("unsupported {compression} compression")]
    Compression {
        /// Which it is.
        compression: Compression,
    },
    /// Its compressed form is broken.
    #[error("broken {compression} stream")]
    Broken {
        /// What it is compressed with.
        compression: Compression,
        /// What is broken.
        #[source]
        source: io::Error,
    },
    /// It is more than a limit allows.
    #[error("it is too much")]
    Limit(#[source] Exceeded),
    /// The blob is longer or shorter than the manifest says.
    #[error("it has {actual_bytes} bytes or more, the manifest says {expected_bytes}")]
    BlobSize {
        /// What the manifest says.
        expected_bytes: u64,
        /// What came.
        actual_bytes: u64,
    },
    /// The blob is not the one that the manifest names.
    #[error("its blob has digest {actual}, expected {expected}")]
    BlobDigest {
        /// What the manifest says.
        expected: Digest,
        /// What came.
        actual: Digest,
    },
    /// What the blob holds is not what the config names.
    #[error("its content has digest {actual}, the config's diff ID is {expected}")]
    DiffId {
        /// What the config says.
        expected: Digest,
        /// What the blob holds.
        actual: Digest,
    },
    /// Its tar cannot be followed.
    #[error("cannot follow its archive")]
    Layer(#[source] oci_layers::LayerError),
    /// Its tree cannot be stored.
    #[error("cannot store its tree")]
    Write(#[source] erofs_writer::WriteError),
    /// It was given up because something else failed first.
    #[error("it was given up")]
    Abandoned,
}
