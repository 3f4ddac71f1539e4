use std::io;
use std::time::Duration;

use fs_err as fs;

use super::lock::{Lock, Mode};
use super::record::StoredImage;
use super::{Store, used};

/// How long a hold waits for a removal to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keeps an image in the store for as long as it lives.
#[derive(Debug)]
pub struct Hold {
    _lock: Lock,
}

impl Store {
    /// Keeps `image` from being removed, by this process or another, until the hold ends, and notes
    /// that it is used.
    ///
    /// # Errors
    /// `NotFound` when it has been removed, `ResourceBusy` when its removal does not end.
    pub fn hold(&self, image: &StoredImage) -> io::Result<Hold> {
        let digest = &image.record.manifest_digest;
        // A removal, or a look for left-overs, has it for an instant.
        let lock = Lock::take_within(&self.layout.image_lock(digest), Mode::Shared, PATIENCE)?;
        let lock = lock.ok_or(io::ErrorKind::ResourceBusy)?;
        if !fs::exists(self.layout.image(digest))? {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("image {digest} has been removed"),
            ));
        }
        used::note(&self.layout, digest);
        Ok(Hold { _lock: lock })
    }
}
