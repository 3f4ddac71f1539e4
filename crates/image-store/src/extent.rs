//! The extents of an image's disk, opened for reads that are verified.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use block_tree::{BlockTree, Content, OpenError};
use serde::{Deserialize, Serialize};
use verified_file::VerifiedFile;

use crate::checksum::Checksum;
use crate::record::{ErofsRecord, StoredImage};
use crate::tree;

/// A range of an artifact that is an extent of an image's disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskExtent {
    /// Path of the artifact.
    pub file: PathBuf,
    /// Length of the artifact, in bytes.
    pub size_bytes: u64,
    /// Checksum of the artifact.
    pub blake3: Checksum,
    /// Path of the artifact's tree.
    pub tree: PathBuf,
    /// First byte of the range.
    pub offset_bytes: u64,
    /// Length of the range, in bytes.
    pub length_bytes: u64,
}

/// An artifact of an image's disk cannot be opened, or its reads cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum ExtentError {
    /// A file cannot be opened.
    #[error("cannot open {}", .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the host.
        #[source]
        source: io::Error,
    },
    /// The tree is not that of the artifact.
    #[error("{} is corrupt", .path.display())]
    Tree {
        /// Path of the tree.
        path: PathBuf,
        /// Cause reported by the reader of trees.
        #[source]
        source: OpenError,
    },
    /// The artifact has another length.
    #[error("cannot read the image")]
    Length(#[source] io::Error),
}

impl DiskExtent {
    fn whole(path: &Path, record: &ErofsRecord) -> Self {
        Self {
            file: path.to_owned(),
            size_bytes: record.size_bytes,
            blake3: record.blake3,
            tree: tree::path(path),
            offset_bytes: 0,
            length_bytes: record.size_bytes,
        }
    }

    /// Opens the artifact, so that each read of it is verified.
    ///
    /// # Errors
    /// If the artifact or its tree cannot be opened, or is not the one of the record.
    pub fn open(&self) -> Result<VerifiedFile<File, File>, ExtentError> {
        let opened = |path: &PathBuf| {
            File::open(path).map_err(|source| ExtentError::Io {
                path: path.clone(),
                source,
            })
        };
        let (file, sidecar) = (opened(&self.file)?, opened(&self.tree)?);
        let content = Content {
            length_bytes: self.size_bytes,
            blake3: self.blake3.to_bytes(),
        };
        let tree = BlockTree::open(sidecar, &content).map_err(|source| ExtentError::Tree {
            path: self.tree.clone(),
            source,
        })?;
        let name = self.file.display().to_string();
        VerifiedFile::new(name, file, tree).map_err(ExtentError::Length)
    }
}

impl StoredImage {
    /// Returns the extents of the image's disk, in the order of its VMDK descriptor: metadata, then
    /// layers, each as a whole.
    pub fn extents(&self) -> Vec<DiskExtent> {
        let paths = std::iter::once(&self.fsmeta).chain(&self.layers);
        let files = paths.zip(self.record.erofs_images());
        files
            .map(|(path, record)| DiskExtent::whole(path, record))
            .collect()
    }
}
