use std::io;
use std::time::{Duration, SystemTime};

use super::inventory::Inventory;
use super::lock::{Lock, Mode};
use super::remove::{Fate, Needed};
use super::{Store, used};
use crate::digest::Digest;
use crate::reference::Reference;

/// What goes besides the left-overs of dead processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneOptions {
    /// Which images go.
    pub images: Pruning,
    /// Spare images that were used within this time.
    pub unused_for: Option<Duration>,
    /// Then, least recently used first, whichever images go until the others' artifacts have at
    /// most this length, in bytes.
    pub limit_bytes: Option<u64>,
    /// Change nothing.
    pub dry_run: bool,
    /// How long to wait for pulls and loads to end.
    pub patience: Duration,
}

/// Which images a pruning takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pruning {
    /// None.
    #[default]
    None,
    /// Those without a name.
    Unnamed,
    /// All.
    All,
}

/// What a pruning did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The images that went, in order.
    pub images: Vec<PrunedImage>,
    /// Images that were to go and are in use, or needed by a stopped sandbox.
    pub spared: Vec<Digest>,
    /// How many artifacts went that no image needed before.
    pub left_overs: usize,
    /// Length of all artifacts that went, in bytes.
    pub freed_bytes: u64,
    /// Length of the artifacts that stay, in bytes.
    pub kept_bytes: u64,
}

/// An image that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedImage {
    /// Its digest.
    pub digest: Digest,
    /// The names that went with it, as docker shows them.
    pub references: Vec<String>,
}

/// Why nothing, or not all, was pruned.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The store cannot be read or changed.
    #[error("cannot prune the store")]
    Io(#[from] io::Error),
    /// Pulls or loads went on for too long.
    #[error("a pull or a load is under way")]
    Busy,
}

impl Store {
    /// Removes artifacts that no image needs, and images as the options say. Never takes what a
    /// running sandbox uses, what is `needed`, or anything while an image is pulled or loaded.
    ///
    /// # Errors
    /// When the store cannot be changed, or pulls or loads do not end in time.
    pub fn prune(&self, options: &PruneOptions, needed: Needed<'_>) -> Result<Pruned, PruneError> {
        let mode = if options.dry_run {
            Mode::Shared
        } else {
            Mode::Exclusive
        };
        let lock = Lock::take_within(&self.layout.store_lock(), mode, options.patience)?;
        let _lock = lock.ok_or(PruneError::Busy)?;
        let mut inventory = Inventory::take(self)?;
        let mut pruned = Pruned {
            left_overs: inventory.unneeded().count(),
            freed_bytes: inventory.unneeded().map(|(_, size_bytes)| size_bytes).sum(),
            ..Pruned::default()
        };
        for candidate in self.candidates(&inventory)? {
            let goes = options.wants(&candidate) || options.is_beyond(&inventory);
            if !goes {
                continue;
            }
            if self.prune_image(&candidate, options.dry_run, needed)? == Fate::Gone {
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

    /// All images, least recently used first.
    fn candidates(&self, inventory: &Inventory) -> io::Result<Vec<Candidate>> {
        let mut names = self.names()?;
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
    ) -> io::Result<Fate> {
        let (digest, names) = (&candidate.digest, &candidate.names);
        if !dry_run {
            return self.remove_image(digest, names, needed);
        }
        let in_use = Lock::try_take(&self.layout.image_lock(digest), Mode::Exclusive)?.is_none();
        Ok(match in_use || needed(digest)? {
            true => Fate::InUse,
            false => Fate::Gone,
        })
    }
}

/// An image that may go.
struct Candidate {
    used: SystemTime,
    digest: Digest,
    names: Vec<Reference>,
}

impl PruneOptions {
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
