use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::lock::{Lock, Mode};
use super::look::Look;
use super::record::ImageRecord;
use super::stamp::Trust;
use super::{FindError, Store};
use crate::digest::Digest;
use crate::progress::Progress;

/// How long a verification waits for a removal to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// The images that were looked at.
    pub images: BTreeSet<Digest>,
    /// How many files were.
    pub files: usize,
    /// Length of the artifacts that were digested, in bytes.
    pub bytes: u64,
    /// What is damaged, in order of path.
    pub damages: Vec<Damage>,
}

/// A file of the store that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub part: Part,
    /// What is wrong with it.
    pub problem: Problem,
    /// The images that need it.
    pub images: BTreeSet<Digest>,
}

/// What a file is to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A name, or the copy of one.
    Name,
    /// An image's record, or the copy of one.
    Image,
    /// The record of where an image is from, or the copy of one.
    Origin,
    /// A layer.
    Layer,
    /// A layer's record.
    LayerRecord,
    /// Metadata, descriptor, or the record of both.
    Disk,
    /// Something that no image needs.
    Unneeded,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is not there.
    #[error("it is missing")]
    Missing,
    /// It has another content.
    #[error("its content is not what was written")]
    Changed,
    /// It names an image that is not there.
    #[error("it names image {0}, which is not there")]
    Dangling(Digest),
    /// The host gives an error instead of its content.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// Why a store was not verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// There is no such image.
    #[error("cannot verify the image")]
    Find(#[from] FindError),
    /// The store's directories cannot be read.
    #[error("cannot read the store")]
    Io(#[from] io::Error),
    /// A removal does not end.
    #[error("a removal is under way")]
    Busy,
}

impl Store {
    /// Compares files with what was recorded when they were written: those of the images that are
    /// named, or all that the store has, by digest or as [`Trust`] says.
    ///
    /// # Errors
    /// When an image is not found or a directory cannot be listed. Damage is no error.
    pub fn verify(
        &self,
        names: &[String],
        trust: Trust,
        progress: &dyn Progress,
    ) -> Result<Verification, VerifyError> {
        let mut look = Look::new(&self.layout, trust, progress);
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

    /// Keeps removals away.
    pub(crate) fn no_removal(&self) -> Result<Lock, VerifyError> {
        let lock = Lock::take_within(&self.layout.store_lock(), Mode::Shared, PATIENCE)?;
        lock.ok_or(VerifyError::Busy)
    }

    /// The image's own records that are not what was written: its own, of its origin, of its names.
    pub(crate) fn damaged_image_records(&self, image: &ImageRecord) -> Vec<Damage> {
        self.damaged(|look| look.image_records_of(image))
    }

    /// The records of its layers and of its disk that are not.
    pub(crate) fn damaged_chain_records(&self, image: &ImageRecord) -> Vec<Damage> {
        self.damaged(|look| look.chain_records_of(image))
    }

    fn damaged(&self, look_at: impl FnOnce(&mut Look<'_>)) -> Vec<Damage> {
        let mut look = Look::new(&self.layout, Trust::Stamp, &());
        look_at(&mut look);
        look.end(Vec::new()).damages
    }
}
