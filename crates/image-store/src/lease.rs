use std::io;
use std::time::Duration;

use fs_err as fs;

use super::lock::{Lock, Mode};
use super::record::StoredImage;
use super::{Store, used};

/// Time for which a lease waits for a removal to end.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The lease of an image, which keeps the image in the store until it is dropped.
#[derive(Debug)]
pub struct ImageLease {
    _lock: Lock,
}

impl Store {
    /// Takes a lease of `image`, so that no process removes it, and records that it is used.
    ///
    /// # Errors
    /// `NotFound` if the image was removed, `ResourceBusy` if its removal does not end in time.
    pub fn lease(&self, image: &StoredImage) -> io::Result<ImageLease> {
        let digest = &image.record.manifest_digest;
        // A removal, or a sweep for leftovers, holds this lock for an instant.
        let lock = Lock::take_within(&self.layout.image_lock(digest), Mode::Shared, LOCK_TIMEOUT)?;
        let lock = lock.ok_or(io::ErrorKind::ResourceBusy)?;
        if !fs::exists(self.layout.image(digest))? {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("image {digest} has been removed"),
            ));
        }
        used::note(&self.layout, digest);
        Ok(ImageLease { _lock: lock })
    }
}
