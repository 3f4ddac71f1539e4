use std::io;

use super::Store;
use super::lock::{Lock, Mode};
use super::record::StoredImage;

/// Keeps an image in the store for as long as it lives.
#[derive(Debug)]
pub struct Hold {
    _lock: Lock,
}

impl Store {
    /// Keeps `image` from being removed, by this process or another, until the hold ends.
    ///
    /// # Errors
    /// `NotFound` when it has been removed, `ResourceBusy` while it is being removed.
    pub fn hold(&self, image: &StoredImage) -> io::Result<Hold> {
        let digest = &image.record.manifest_digest;
        let lock = Lock::try_take(&self.layout.image_lock(digest), Mode::Shared)?;
        let lock = lock.ok_or(io::ErrorKind::ResourceBusy)?;
        if !self.layout.image(digest).exists() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("image {digest} has been removed"),
            ));
        }
        Ok(Hold { _lock: lock })
    }
}
