use std::io;
use std::path::{Path, PathBuf};

use artifact_file::{ArtifactFile, OpenError, Opening, Verify};
use block_tree::Content;

use crate::block::{BLOCK_BYTES, SIZE_MAX_BYTES};
use crate::error::BaseError;

/// A file that has blocks of a disk. If its tree lies beside it, with the same name and the extension `tree`, each
/// read of the file is verified. It may be packed meanwhile ([`artifact_file`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFile {
    /// The path: absolute, or from the directory of the pool.
    pub path: PathBuf,
    /// The length of the file, in bytes.
    pub size_bytes: u64,
    /// The BLAKE3 of the content. Nothing here reads all of the file: its tree, or its owner, compares.
    pub blake3: [u8; 32],
}

impl BlockFile {
    /// Returns the number of whole blocks that a run can name.
    pub(crate) fn blocks(&self) -> u64 {
        self.size_bytes.min(SIZE_MAX_BYTES) / BLOCK_BYTES
    }

    pub(crate) fn open(&self, directory: &Path) -> Result<ArtifactFile, BaseError> {
        let content = Content {
            length_bytes: self.size_bytes,
            blake3: self.blake3,
        };
        let path = directory.join(&self.path);
        let opening = Opening::new(&path, content).verified(Verify::TreeIfPresent);
        opening.open().map_err(refusal)
    }
}

/// Returns the error of a file that cannot be opened as a part of a base.
fn refusal(error: OpenError) -> BaseError {
    match error {
        OpenError::Io { path, source } => BaseError::Io { path, source },
        OpenError::Length {
            path,
            actual_bytes,
            expected_bytes,
        } => {
            let change = format!("it had {expected_bytes} bytes and has {actual_bytes}");
            BaseError::Changed { path, change }
        }
        OpenError::Tree { path, source } => BaseError::Tree { path, source },
        OpenError::Packed { path, source } => BaseError::Io {
            path,
            source: io::Error::new(io::ErrorKind::InvalidData, source),
        },
    }
}
