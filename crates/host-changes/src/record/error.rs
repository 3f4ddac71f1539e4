use std::io;

use super::super::ApplyError;

/// A reason why an apply that was killed is not finished.
#[derive(Debug, thiserror::Error)]
pub enum ApplyRecordError {
    /// The record cannot be read.
    #[error("cannot read its record")]
    Read(#[source] io::Error),
    /// The record is damaged.
    #[error("its record is damaged")]
    Damaged(#[from] sealed_records::BrokenSeal),
    /// The record is longer than records may be.
    #[error("its record has more than 64 MiB")]
    TooLong,
    /// The record is one of a later version.
    #[error("its record has version {version}, which this msb does not know")]
    Version {
        /// The version.
        version: u32,
    },
    /// A step of the record is one that no apply makes.
    #[error("its record has an impossible step for '{}'", .path.escape_ascii())]
    Step {
        /// Path of the step.
        path: Vec<u8>,
    },
    /// The directory does not exist.
    #[error("the directory no longer exists")]
    Missing,
    /// The directory is another one than that of the record.
    #[error("another directory has taken its place")]
    OtherDirectory,
    /// A step cannot be done.
    #[error(transparent)]
    Host(Box<ApplyError>),
}
