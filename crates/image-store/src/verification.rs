use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis};
use oci_image::Digest;

use super::FindError;

/// Result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Images that were verified.
    pub images: BTreeSet<Digest>,
    /// Number of files that were verified.
    pub files: usize,
    /// Length of the artifacts that were verified, in bytes.
    pub bytes: u64,
    /// Damaged files, in order of path.
    pub damages: Vec<Damage>,
}

/// A file of the store that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Path of the file.
    pub path: PathBuf,
    /// Role of the file in the store.
    pub role: FileRole,
    /// Problem with the file.
    pub problem: Problem,
    /// Images that need the file.
    pub images: BTreeSet<Digest>,
}

/// Role of a file in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileRole {
    /// Record of a name, or its copy.
    Name,
    /// Record of an image, or its copy.
    Image,
    /// Record of an image's origin, or its copy.
    Origin,
    /// Manifest or config of an image, or its copy.
    Document,
    /// Artifact of a layer.
    Layer,
    /// Outline of a layer.
    Outline,
    /// Tree of a layer or of merged metadata.
    Tree,
    /// Record of a layer.
    LayerRecord,
    /// Merged metadata, VMDK descriptor, or the record of both.
    Disk,
    /// File that no image needs.
    Unneeded,
}

/// Problem with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file does not exist.
    #[error("it is missing")]
    Missing,
    /// The content is not what was written.
    #[error("its content has changed")]
    Changed,
    /// The content is not what was written, from the block at this offset in bytes on.
    #[error("its content has changed, first in the block at byte {0}")]
    ChangedAt(u64),
    /// The file names an image that does not exist.
    #[error("it names image {0}, which is not in the store")]
    Dangling(Digest),
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(String),
}

/// An error that ended a verification.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// An image does not exist.
    #[error("cannot verify the image")]
    Find(#[from] FindError),
    /// A directory of the store cannot be read.
    #[error("cannot read the store")]
    Io(#[from] io::Error),
    /// A removal did not end in time.
    #[error("a removal is running")]
    Busy,
}

impl Diagnose for VerifyError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Find(source) => source.diagnosis(),
            Self::Io(source) => source.diagnosis(),
            Self::Busy => Diagnosis::default(),
        }
    }
}
