use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use oci_image::Digest;

use super::lock::{Lock, Mode};
use super::record::ImageRecord;
use super::stamp::VerifyMode;
use super::verifier::Verifier;
use super::{FindError, Store};
use crate::progress::Progress;

/// Time for which a verification waits for a removal to end.
const STORE_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

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
    /// Artifact of a layer.
    Layer,
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
    #[error("its content is not what was written")]
    Changed,
    /// The file names an image that does not exist.
    #[error("it names image {0}, which is not there")]
    Dangling(Digest),
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
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
    #[error("a removal is under way")]
    Busy,
}

impl Store {
    /// Compares files with their records: those of the named images, or all of the store. Artifacts
    /// are checked by digest, or as [`VerifyMode`] permits.
    ///
    /// # Errors
    /// If an image is not found or a directory cannot be listed. Damage is not an error.
    pub fn verify(
        &self,
        names: &[String],
        trust: VerifyMode,
        progress: &dyn Progress,
    ) -> Result<Verification, VerifyError> {
        let mut look = Verifier::new(&self.layout, trust, progress);
        let all = names.is_empty();
        let _no_removal = self.no_removal()?;
        let digests = if all {
            self.digests()?
        } else {
            look.resolve(self, names)?
        };
        let records = look.image_records(&digests);
        look.announce(&records);
        let is_complete = records.len() == digests.len();
        for record in &records {
            look.artifacts_of(record);
        }
        look.names(self, (!all).then_some(&digests[..]))?;
        if all && is_complete {
            look.unneeded()?;
        }
        Ok(look.end(digests))
    }

    /// Prevents removals while the lock is held.
    pub(crate) fn no_removal(&self) -> Result<Lock, VerifyError> {
        let lock = Lock::take_within(&self.layout.store_lock(), Mode::Shared, STORE_LOCK_TIMEOUT)?;
        lock.ok_or(VerifyError::Busy)
    }

    /// Returns the damaged records of the image itself, of its origin and of its names.
    pub(crate) fn damaged_image_records(&self, image: &ImageRecord) -> Vec<Damage> {
        self.damaged(|look| look.image_records_of(image))
    }

    /// Returns the damaged records of the image's layers and of its disk.
    pub(crate) fn damaged_chain_records(&self, image: &ImageRecord) -> Vec<Damage> {
        self.damaged(|look| look.chain_records_of(image))
    }

    fn damaged(&self, look_at: impl FnOnce(&mut Verifier<'_>)) -> Vec<Damage> {
        let mut look = Verifier::new(&self.layout, VerifyMode::Stamp, &());
        look_at(&mut look);
        look.end(Vec::new()).damages
    }
}
