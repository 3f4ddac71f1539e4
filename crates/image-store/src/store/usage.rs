use std::io;
use std::time::SystemTime;

use fs_err as fs;

use super::inventory::Inventory;
use super::lock::{Lock, Mode};
use super::remove::Needed;
use super::{Store, VerifyError, used};
use crate::digest::Digest;
use crate::reference::Reference;

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Every image, least recently used first.
    pub images: Vec<ImageUsage>,
    /// Length of the artifacts that images need, each once, in bytes.
    pub images_bytes: u64,
    /// How many artifacts no image needs.
    pub left_overs: usize,
    /// Their length, in bytes.
    pub left_overs_bytes: u64,
    /// Length of the unfinished files of running pulls and loads, in bytes.
    pub unfinished_bytes: u64,
    /// Length of what `msb prune --all` would free, in bytes.
    pub reclaimable_bytes: u64,
}

/// What an image takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageUsage {
    /// Which.
    pub digest: Digest,
    /// Its names as docker shows them.
    pub references: Vec<String>,
    /// When it was last used.
    pub used: SystemTime,
    /// Whether a sandbox runs on it or needs it.
    pub in_use: bool,
    /// Length of the artifacts that it alone needs, in bytes.
    pub unique_bytes: u64,
    /// Length of those that other images need too, in bytes.
    pub shared_bytes: u64,
}

impl Store {
    /// What the store holds, and what of it could go.
    ///
    /// # Errors
    /// When it cannot be read, or a removal does not end.
    pub fn usage(&self, needed: Needed<'_>) -> Result<Usage, VerifyError> {
        let _no_removal = self.no_removal()?;
        let mut inventory = Inventory::take(self)?;
        let mut names = self.names()?;
        let mut images = Vec::new();
        for (digest, record) in inventory.images() {
            let references = names.remove(digest).unwrap_or_default();
            let (mut unique_bytes, mut shared_bytes) = (0, 0);
            for artifact in inventory.artifacts_of(record) {
                match artifact.users {
                    0 | 1 => unique_bytes += artifact.size_bytes,
                    _ => shared_bytes += artifact.size_bytes,
                }
            }
            images.push(ImageUsage {
                digest: *digest,
                references: references.iter().map(Reference::familiar).collect(),
                used: used::last(&self.layout, digest)?,
                in_use: self.is_used(digest)? || needed(digest)?,
                unique_bytes,
                shared_bytes,
            });
        }
        images.sort_by_key(|image| (image.used, image.digest));
        let images_bytes = inventory.needed_bytes();
        let left_overs = inventory.unneeded().count();
        let left_overs_bytes = inventory.unneeded().map(|(_, size_bytes)| size_bytes).sum();
        for image in images.iter().filter(|image| !image.in_use) {
            inventory.forget(&image.digest);
        }
        Ok(Usage {
            images,
            images_bytes,
            left_overs,
            left_overs_bytes,
            unfinished_bytes: self.unfinished_bytes()?,
            reclaimable_bytes: left_overs_bytes + images_bytes - inventory.needed_bytes(),
        })
    }

    fn is_used(&self, digest: &Digest) -> io::Result<bool> {
        let path = self.layout.image_lock(digest);
        if !fs::exists(&path)? {
            return Ok(false);
        }
        Ok(Lock::try_take(&path, Mode::Exclusive)?
            .map(Lock::unlinked_at_end)
            .is_none())
    }

    fn unfinished_bytes(&self) -> io::Result<u64> {
        let mut bytes = 0;
        for session in fs::read_dir(self.layout.temporary())? {
            // One that ends meanwhile has no files any more.
            let Ok(files) = fs::read_dir(session?.path()) else {
                continue;
            };
            let sizes = files.flatten().filter_map(|file| file.metadata().ok());
            bytes += sizes.map(|file| file.len()).sum::<u64>();
        }
        Ok(bytes)
    }
}
