use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use oci_image::{Digest, Reference};

use super::find::REPAIR_HINT;
use super::inventory::Inventory;
use super::lock::{Lock, Mode};
use super::remove::{Needed, RemoveOutcome};
use super::{Store, used};

/// Options of a pruning. Artifacts that no image needs are always removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneOptions {
    /// Images to remove.
    pub images: Pruning,
    /// Smallest time since the last use of an image to remove; `None` for any.
    pub unused_for: Option<Duration>,
    /// Limit on the length of the remaining images' artifacts, in bytes. Any images are removed to
    /// meet it, the least recently used first.
    pub limit_bytes: Option<u64>,
    /// True to report only, without changes.
    pub dry_run: bool,
    /// Time to wait for pulls and loads to end.
    pub lock_timeout: Duration,
}

/// Selection of the images to remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pruning {
    /// No images.
    #[default]
    None,
    /// Images without a name.
    Unnamed,
    /// All images, named or not.
    All,
}

/// Result of a pruning, or of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Removed images, in order.
    pub images: Vec<PrunedImage>,
    /// Selected images that stay, because they are in use or a stopped sandbox needs them.
    pub spared: Vec<Digest>,
    /// Number of removed artifacts that no image needed before.
    pub left_overs: usize,
    /// Length of all removed artifacts, in bytes.
    pub freed_bytes: u64,
    /// Length of the remaining artifacts, in bytes.
    pub kept_bytes: u64,
}

/// An image that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedImage {
    /// Digest of the manifest.
    pub digest: Digest,
    /// Names that were removed with it, in docker's short form.
    pub references: Vec<String>,
}

/// An error that ended a pruning before it was complete.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The store cannot be read or changed.
    #[error("cannot prune the store")]
    Io(#[from] io::Error),
    /// Pulls or loads did not end in time.
    #[error("a pull or a load is running")]
    Busy,
    /// A name and its copy are damaged, so the image that it names looks as if it had none.
    #[error("cannot prune images: the name in {} is damaged, and so is its copy", .path.display())]
    UnreadableName {
        /// The file of the name.
        path: PathBuf,
    },
}

impl Diagnose for PruneError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => source.diagnosis(),
            Self::Busy => Diagnosis::new(ErrorKind::Busy),
            Self::UnreadableName { .. } => Diagnosis::default().hint(REPAIR_HINT),
        }
    }
}

impl Store {
    /// Removes artifacts that no image needs, and images as the options select. Images that a
    /// running sandbox uses or that are `needed` stay; nothing is removed while an image is pulled
    /// or loaded.
    ///
    /// # Errors
    /// If the store cannot be changed, or pulls or loads do not end in time.
    pub fn prune(&self, options: &PruneOptions, needed: Needed<'_>) -> Result<Pruned, PruneError> {
        let mode = if options.dry_run {
            Mode::Shared
        } else {
            Mode::Exclusive
        };
        let lock = Lock::take_within(&self.layout.store_lock(), mode, options.lock_timeout)?;
        let _lock = lock.ok_or(PruneError::Busy)?;
        let mut inventory = Inventory::take(self)?;
        let mut pruned = Pruned {
            left_overs: inventory.unneeded().count(),
            freed_bytes: inventory.unneeded().map(|(_, size_bytes)| size_bytes).sum(),
            ..Pruned::default()
        };
        for candidate in self.candidates(&inventory, options.takes_images())? {
            let goes = options.wants(&candidate) || options.is_beyond(&inventory);
            if !goes {
                continue;
            }
            if self.prune_image(&candidate, options.dry_run, needed)? == RemoveOutcome::Gone {
                pruned.freed_bytes += inventory.forget(&candidate.digest);
                pruned.images.push(PrunedImage {
                    digest: candidate.digest,
                    references: candidate.names.iter().map(Reference::familiar).collect(),
                });
            } else {
                pruned.spared.push(candidate.digest);
            }
        }
        pruned.kept_bytes = inventory.needed_bytes();
        if !options.dry_run {
            self.collect(&inventory)?;
        }
        Ok(pruned)
    }

    /// Returns all images, the least recently used first. If some are to go, every name must be known.
    fn candidates(
        &self,
        inventory: &Inventory,
        takes_images: bool,
    ) -> Result<Vec<Candidate>, PruneError> {
        let all = self.all_names()?;
        if let Some(path) = all.unreadable.into_iter().next().filter(|_| takes_images) {
            return Err(PruneError::UnreadableName { path });
        }
        let mut names = all.by_digest;
        let mut candidates = Vec::new();
        for digest in inventory.images().keys() {
            candidates.push(Candidate {
                used: used::last(&self.layout, digest)?,
                digest: *digest,
                names: names.remove(digest).unwrap_or_default(),
            });
        }
        candidates.sort_by_key(|candidate| (candidate.used, candidate.digest));
        Ok(candidates)
    }

    fn prune_image(
        &self,
        candidate: &Candidate,
        dry_run: bool,
        needed: Needed<'_>,
    ) -> io::Result<RemoveOutcome> {
        let (digest, names) = (&candidate.digest, &candidate.names);
        if !dry_run {
            return self.remove_image(digest, names, needed);
        }
        let in_use = Lock::try_take(&self.layout.image_lock(digest), Mode::Exclusive)?.is_none();
        Ok(if in_use || needed(digest)? {
            RemoveOutcome::InUse
        } else {
            RemoveOutcome::Gone
        })
    }
}

/// An image that may be removed.
struct Candidate {
    used: SystemTime,
    digest: Digest,
    names: Vec<Reference>,
}

impl PruneOptions {
    fn takes_images(&self) -> bool {
        self.images != Pruning::None || self.limit_bytes.is_some()
    }

    fn wants(&self, candidate: &Candidate) -> bool {
        let chosen = match self.images {
            Pruning::None => false,
            Pruning::Unnamed => candidate.names.is_empty(),
            Pruning::All => true,
        };
        let age = candidate.used.elapsed().unwrap_or_default();
        chosen && self.unused_for.is_none_or(|limit| age >= limit)
    }

    fn is_beyond(&self, inventory: &Inventory) -> bool {
        self.limit_bytes
            .is_some_and(|limit_bytes| inventory.needed_bytes() > limit_bytes)
    }
}
