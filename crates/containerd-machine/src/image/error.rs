use std::io;

use oci_image::{InvalidDigest, ManifestError};

use crate::engine::EngineError;

/// The image of a container cannot be brought into the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    /// The root filesystem is no snapshot of an image.
    #[error(
        "the container has no image: its root filesystem has to be a snapshot of an image of \
         containerd"
    )]
    None,
    /// containerd did not answer.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A digest of containerd is not one that msb accepts.
    #[error("containerd named a digest that msb does not accept")]
    Digest(#[from] InvalidDigest),
    /// A document of the image is not valid.
    #[error("the image {name:?} is not valid")]
    Document {
        /// The name of the image.
        name: String,
        /// The error of the document.
        #[source]
        source: ManifestError,
    },
    /// The name of the image stands for another one by now.
    #[error(
        "the image {name:?} has no manifest with the layers of the container's snapshot, \
         {chain:?}: pull it again, and create the container again"
    )]
    Moved {
        /// The name of the image.
        name: String,
        /// The chain ID that the snapshot begins with.
        chain: String,
    },
    /// A blob is longer than its descriptor says, or shorter.
    #[error("the content {digest} has not the {expected_bytes} bytes that its descriptor says")]
    Length {
        /// The digest of the blob.
        digest: String,
        /// The length in the descriptor, in bytes.
        expected_bytes: u64,
    },
    /// A document is too long.
    #[error("the content {digest} has {bytes} bytes, a document has at most {limit_bytes}")]
    TooLong {
        /// The digest of the document.
        digest: String,
        /// Its length, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The blobs cannot be written.
    #[error("cannot write the image's content to {home}")]
    Write {
        /// The directory of the store.
        home: String,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// The store did not take the image.
    #[error(transparent)]
    Store(#[from] msb_sdk::Error),
}
