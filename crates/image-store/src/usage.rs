use std::io;
use std::time::SystemTime;

use fs_err as fs;
use oci_image::{Digest, Reference};

use super::inventory::Inventory;
use super::lock::{Lock, Mode};
use super::remove::Needed;
use super::{Store, VerifyError, used};

/// Disk space of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Every image, the least recently used first.
    pub images: Vec<ImageUsage>,
    /// Length of the artifacts that images need, each counted once, in bytes. Of cache files only the space counts that
    /// they take.
    pub images_bytes: u64,
    /// The part of it that packed layers take, without their cache files, in bytes.
    pub packed_bytes: u64,
    /// The part of it that cache files of packed layers take, in bytes.
    pub cache_bytes: u64,
    /// Number of artifacts that no image needs.
    pub left_overs: usize,
    /// Length of these artifacts, in bytes.
    pub left_overs_bytes: u64,
    /// Length of the unfinished files of running pulls and loads, in bytes.
    pub unfinished_bytes: u64,
    /// Length of the artifacts that `msb prune --all` would remove, in bytes.
    pub reclaimable_bytes: u64,
}

/// Disk space of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageUsage {
    /// Digest of the manifest.
    pub digest: Digest,
    /// Names of the image, in docker's short form.
    pub references: Vec<String>,
    /// Time of the last use.
    pub used: SystemTime,
    /// True if a sandbox runs on the image or needs it.
    pub in_use: bool,
    /// Length of the artifacts that only this image needs, in bytes.
    pub unique_bytes: u64,
    /// Length of the artifacts that other images need too, in bytes.
    pub shared_bytes: u64,
}

impl Store {
    /// Returns the disk space of the store, and the part that could be freed.
    ///
    /// # Errors
    /// If the store cannot be read, or a removal does not end in time.
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
        let packed_bytes = inventory.needed_bytes_of("packed");
        let cache_bytes = inventory.needed_bytes_of("cache");
        let left_overs = inventory.unneeded().count();
        let left_overs_bytes = inventory.unneeded().map(|(_, size_bytes)| size_bytes).sum();
        for image in images.iter().filter(|image| !image.in_use) {
            inventory.forget(&image.digest);
        }
        Ok(Usage {
            images,
            images_bytes,
            packed_bytes,
            cache_bytes,
            left_overs,
            left_overs_bytes,
            unfinished_bytes: self.unfinished_bytes()?,
            reclaimable_bytes: left_overs_bytes + images_bytes - inventory.needed_bytes(),
        })
    }

    /// Returns true if a process has a lease of an image.
    pub(crate) fn is_used(&self, digest: &Digest) -> io::Result<bool> {
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
            // A session that ends meanwhile has no files.
            let Ok(files) = fs::read_dir(session?.path()) else {
                continue;
            };
            let sizes = files.flatten().filter_map(|file| file.metadata().ok());
            bytes += sizes.map(|file| file.len()).sum::<u64>();
        }
        Ok(bytes)
    }
}
