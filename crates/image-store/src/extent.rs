//! The extents of an image's disk, opened for reads that are verified.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifact_cache::UnitLocks;
use artifact_file::{ArtifactFile, OpenError, Opening, Verify, cache_path, packed_path, tree_path};
use block_tree::Content;
use serde::{Deserialize, Serialize};

use crate::checksum::Checksum;
use crate::layout::Layout;
use crate::record::{ErofsRecord, StoredImage};

/// A range of an artifact that is an extent of an image's disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskExtent {
    /// Path of the artifact in its plain form. The tree lies beside it, and so does the packed form.
    pub file: PathBuf,
    /// Length of the artifact, in bytes.
    pub size_bytes: u64,
    /// Checksum of the artifact.
    pub blake3: Checksum,
    /// First byte of the range.
    pub offset_bytes: u64,
    /// Length of the range, in bytes.
    pub length_bytes: u64,
}

impl DiskExtent {
    fn whole(path: &Path, record: &ErofsRecord) -> Self {
        Self {
            file: path.to_owned(),
            size_bytes: record.size_bytes,
            blake3: record.blake3,
            offset_bytes: 0,
            length_bytes: record.size_bytes,
        }
    }

    /// Returns the paths of the artifact's forms, of its cache file and of its tree. Some of them do not exist.
    pub fn files(&self) -> [PathBuf; 4] {
        let file = &self.file;
        let [packed, cache, tree] = [packed_path(file), cache_path(file), tree_path(file)];
        [file.clone(), packed, cache, tree]
    }

    /// Opens the artifact, so that each read of it is verified. The parts of a packed one that are read are kept in its
    /// cache file.
    ///
    /// # Errors
    /// If the artifact or its tree cannot be opened, or is not the one of the record.
    pub fn open(&self, locks: Option<&Arc<UnitLocks>>) -> Result<ArtifactFile, OpenError> {
        let content = Content {
            length_bytes: self.size_bytes,
            blake3: self.blake3.to_bytes(),
        };
        let opening = Opening::new(&self.file, content).verified(Verify::Tree);
        opening.with_locks(locks.cloned()).open()
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

/// Opens the locks by which the machines of a store decompress a part of a packed layer once; `None` if they cannot be
/// opened: each machine decompresses it then.
pub fn unit_locks(layout: &Layout) -> Option<Arc<UnitLocks>> {
    let files = layout.unit_locks().map(|path| {
        let file = durable_files::open_or_create(&path)?;
        Ok(file.into_parts().0)
    });
    let files = files.collect::<io::Result<Vec<_>>>().ok()?;
    Some(Arc::new(UnitLocks::new(files)))
}
