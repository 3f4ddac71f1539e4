use std::io;

use crate::Part;

/// A failure to write an archive.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output fails.
    #[error("cannot write the archive")]
    Output(#[source] io::Error),
    /// The disk cannot be read.
    #[error("cannot read the disk of the snapshot")]
    Disk(#[source] io::Error),
    /// An image of the staged directories cannot be read.
    #[error("cannot read the image of the staged directories")]
    Image(#[source] io::Error),
    /// The record is longer than a reader accepts.
    #[error("the record of the snapshot has {length_bytes} bytes, the limit is {limit_bytes}")]
    Record {
        /// Length of the record, in bytes.
        length_bytes: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
}

/// A failure to read an archive.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input fails.
    #[error("cannot read the archive")]
    Input(#[source] io::Error),
    /// The input is not an archive of a snapshot.
    #[error("it is not an archive of a snapshot: it does not begin with a zstd frame")]
    NotAnArchive,
    /// The input ends early.
    #[error("the archive is truncated in {part}")]
    Truncated {
        /// The part that the input ends in.
        part: Part,
    },
    /// A part is not what was written.
    #[error("the archive is damaged in {part}: {reason}")]
    Damaged {
        /// The part.
        part: Part,
        /// The fault, as a clause.
        reason: String,
    },
    /// A part is larger than an archive may have it.
    #[error("{part} of the archive has {found_bytes} bytes, the limit is {limit_bytes}")]
    TooLarge {
        /// The part.
        part: Part,
        /// Size of the part, in bytes.
        found_bytes: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The receiver of the content fails.
    #[error("cannot write the files of the snapshot")]
    Write(#[source] io::Error),
}
