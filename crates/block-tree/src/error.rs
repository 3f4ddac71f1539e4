use std::io;

/// An error in a sidecar, which is then of no use.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The sidecar cannot be read.
    #[error("cannot read it")]
    Io(#[source] io::Error),
    /// The sidecar has another length than the sidecar of the file has.
    #[error("it has {actual_bytes} bytes, expected {expected_bytes}")]
    Length {
        /// Length of the sidecar, in bytes.
        actual_bytes: u64,
        /// Length that the file's own length implies, in bytes.
        expected_bytes: u64,
    },
    /// The file is not a sidecar, or has a newer version of the format.
    #[error("it is not a tree of version 1")]
    Format,
    /// The header is not that of the sidecar of the file.
    #[error("its header is not that of the tree of a file of {length_bytes} bytes")]
    Header {
        /// Length of the file, in bytes.
        length_bytes: u64,
    },
    /// The values do not lead to the checksum of the file.
    #[error("its values do not lead to the checksum of the file")]
    Checksum,
}

/// An error while a range is verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The range does not consist of whole blocks of the file.
    #[error(
        "{range_bytes} bytes at byte {offset_bytes} are not whole blocks of a file of {length_bytes} bytes"
    )]
    Range {
        /// Offset of the range, in bytes.
        offset_bytes: u64,
        /// Length of the range, in bytes.
        range_bytes: u64,
        /// Length of the file, in bytes.
        length_bytes: u64,
    },
    /// A block is not that of the file. Blocks behind it were not compared.
    #[error("the block at byte {offset_bytes} has changed")]
    Block {
        /// Offset of the block, in bytes.
        offset_bytes: u64,
    },
    /// The sidecar has changed since it was opened, so nothing is known of the range.
    #[error(
        "the tree has changed since it was opened, at the values of the blocks at byte {offset_bytes}"
    )]
    Sidecar {
        /// Offset of the first of the blocks in the file, in bytes.
        offset_bytes: u64,
    },
    /// The sidecar cannot be read.
    #[error("cannot read the tree")]
    Io(#[source] io::Error),
}
