use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// An artifact cannot be opened, or its reads cannot be verified.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A file cannot be opened. If the artifact has neither form, it is the plain one.
    #[error("cannot open {}", .path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The artifact has another length.
    #[error("{} is corrupt: it has {actual_bytes} bytes, expected {expected_bytes}", .path.display())]
    Length {
        /// The path of the file.
        path: PathBuf,
        /// The length of the plain form, in bytes.
        actual_bytes: u64,
        /// The expected length, in bytes.
        expected_bytes: u64,
    },
    /// The tree is not that of the artifact.
    #[error("{} is corrupt", .path.display())]
    Tree {
        /// The path of the tree.
        path: PathBuf,
        /// The error of the reader of trees.
        #[source]
        source: block_tree::OpenError,
    },
    /// The packed form is damaged, or that of another artifact.
    #[error("{} is corrupt", .path.display())]
    Packed {
        /// The path of the packed form.
        path: PathBuf,
        /// The error of the reader of packed files.
        #[source]
        source: packed_file::OpenError,
    },
}

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        let kind = match &error {
            OpenError::Io { source, .. }
            | OpenError::Tree {
                source: block_tree::OpenError::Io(source),
                ..
            }
            | OpenError::Packed {
                source: packed_file::OpenError::Io(source),
                ..
            } => source.kind(),
            OpenError::Length { .. } | OpenError::Tree { .. } | OpenError::Packed { .. } => {
                io::ErrorKind::InvalidData
            }
        };
        Self::new(kind, error)
    }
}
