use std::io;

use thiserror::Error;

/// Bytes of an artifact cannot be read. A disk reports this as an I/O error.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The range ends beyond the artifact.
    #[error(
        "{length_bytes} bytes at {offset_bytes} end beyond {artifact}, which has {size_bytes} bytes"
    )]
    OutOfRange {
        /// The name of the artifact.
        artifact: String,
        /// The first byte.
        offset_bytes: u64,
        /// The number of bytes.
        length_bytes: u64,
        /// The size of the artifact, in bytes.
        size_bytes: u64,
    },
    /// Neither the cache file nor a source has the right bytes.
    #[error("cannot read {length_bytes} bytes at {offset_bytes} of {artifact}: {reason}")]
    Unreadable {
        /// The name of the artifact.
        artifact: String,
        /// The first byte.
        offset_bytes: u64,
        /// The number of bytes.
        length_bytes: u64,
        /// The failures of the cache file and of all sources, as clauses.
        reason: String,
    },
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::OutOfRange { .. } => io::ErrorKind::UnexpectedEof,
            ReadError::Unreadable { .. } => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
