use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_runtime::{AdoptError, CreateError};
use snapshot_file::{Part, ReadError, WriteError};
use staged_image::ForeignImageError;

use super::super::SnapshotError;

/// A snapshot cannot be exported. No file remains of it.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The snapshot cannot be opened.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The archive cannot be written, or the snapshot not be read.
    #[error(transparent)]
    Archive(#[from] WriteError),
    /// The record of the snapshot cannot be written.
    #[error("cannot describe the snapshot")]
    Record(#[source] io::Error),
    /// The file of the archive cannot be created.
    #[error("cannot write the archive")]
    Output(#[source] io::Error),
}

/// A snapshot cannot be imported. Nothing is left of its sandbox.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The archive cannot be read, or is not what was written.
    #[error(transparent)]
    Archive(#[from] ReadError),
    /// The archive is of a later msb.
    #[error("the archive has format {found}, this msb reads format {newest}")]
    Format {
        /// The format of the archive.
        found: u32,
        /// The newest format that this msb reads.
        newest: u32,
    },
    /// The record of the snapshot is not one that an export writes.
    #[error("the archive's snapshot.json is invalid: {reason}")]
    Record {
        /// The fault, as a clause.
        reason: String,
    },
    /// A part of the archive is something else than an image of the sandbox's staged directories.
    #[error("the archive's {part} is not an image of staged directories")]
    Staged {
        /// The part.
        part: Part,
        /// The fault of the image.
        #[source]
        source: ForeignImageError,
    },
    /// The host has too little room for the disk.
    #[error(
        "the snapshot needs {needed_bytes} bytes, and {free_bytes} bytes are free, of which {kept_bytes} are kept free"
    )]
    Full {
        /// The bytes that the archive carries, and those of new volumes.
        needed_bytes: u64,
        /// The free bytes of the filesystem of the sandboxes.
        free_bytes: u64,
        /// The free bytes that an import does not take.
        kept_bytes: u64,
    },
    /// The sandbox cannot be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The imported disk cannot be made one of generations.
    #[error("cannot make the files of the writable disk")]
    Adopt(#[from] AdoptError),
    /// The snapshot of the new sandbox cannot be recorded.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A file of the new sandbox cannot be written.
    #[error("cannot write the disk of the snapshot")]
    Io(#[from] io::Error),
}

impl Diagnose for ExportError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Snapshot(source) => source.diagnosis(),
            Self::Archive(source) => Diagnosis::of_foreign(source),
            Self::Record(source) | Self::Output(source) => source.diagnosis(),
        }
    }
}

impl Diagnose for ImportError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Archive(ReadError::Input(source) | ReadError::Write(source))
            | Self::Io(source) => source.diagnosis(),
            Self::Archive(ReadError::Damaged { .. } | ReadError::Truncated { .. }) => {
                Diagnosis::new(ErrorKind::InvalidArgument)
                    .hint("copy the file again, or export the snapshot again")
            }
            Self::Archive(ReadError::NotAnArchive | ReadError::TooLarge { .. })
            | Self::Record { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::Format { .. } => Diagnosis::new(ErrorKind::VersionMismatch),
            Self::Staged { source, .. } => source.diagnosis(),
            Self::Full { .. } => Diagnosis::new(ErrorKind::OutOfSpace),
            Self::Create(source) => source.diagnosis(),
            Self::Adopt(source) => source.diagnosis(),
            Self::Snapshot(source) => source.diagnosis(),
        }
    }
}
