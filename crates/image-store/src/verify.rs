use std::time::Duration;

use super::Store;
use super::lock::{Lock, Mode};
use super::record::ImageRecord;
use super::stamp::VerifyMode;
use super::verification::{Damage, Verification, VerifyError};
use super::verifier::Verifier;
use crate::progress::Progress;

/// Time for which a verification or a check waits for a removal to end.
pub(crate) const STORE_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

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
