use block_tree::VerifyError;

/// An error for a file that has another length than its tree states.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file} is corrupt: it has {actual_bytes} bytes, expected {expected_bytes}")]
pub struct LengthError {
    /// Name of the file.
    pub file: String,
    /// Length of the file, in bytes.
    pub actual_bytes: u64,
    /// Length that the tree states, in bytes.
    pub expected_bytes: u64,
}

/// A read that handed out nothing, because a block could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Neither the file nor a source has the block that was written.
    #[error("{file} is corrupt: the block at byte {offset_bytes} is not the one that was written")]
    Block {
        /// Name of the file.
        file: String,
        /// Offset of the block, in bytes.
        offset_bytes: u64,
    },
    /// The tree cannot be read, or has changed since it was opened.
    #[error("cannot verify {file}")]
    Tree {
        /// Name of the file.
        file: String,
        /// Offset of the block that was to be verified, in bytes.
        offset_bytes: u64,
        /// Cause reported by the tree.
        #[source]
        source: VerifyError,
    },
}

impl ReadError {
    /// Returns the offset of the block, in bytes.
    pub const fn offset_bytes(&self) -> u64 {
        match self {
            Self::Block { offset_bytes, .. } | Self::Tree { offset_bytes, .. } => *offset_bytes,
        }
    }
}
