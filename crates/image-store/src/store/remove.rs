use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as fs;

use super::inventory::Inventory;
use super::kept::{self, remove_file};
use super::lock::{Lock, Mode};
use super::{FindError, Store, durable, layout};
use crate::digest::Digest;
use crate::reference::Reference;

/// How long a removal waits for pulls and loads to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it waits for the lock of an image, which a look for left-overs has for an instant.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);

/// Says whether somebody needs an image although it is not in use now: a stopped sandbox.
pub type Needed<'a> = &'a dyn Fn(&Digest) -> io::Result<bool>;

/// What a removal did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The names that went, as docker shows them.
    pub references: Vec<String>,
    /// The image that went with its last name, if it did.
    pub image: Option<Digest>,
    /// Length of the artifacts that went, in bytes.
    pub freed_bytes: u64,
}

/// Why nothing, or not all, was removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// There is no such image.
    #[error("cannot remove the image")]
    Find(#[from] FindError),
    /// The store cannot be changed.
    #[error("cannot remove from the store")]
    Io(#[from] io::Error),
    /// A sandbox runs on it.
    #[error("image {digest} is in use by a running sandbox")]
    InUse {
        /// Which image.
        digest: Digest,
    },
    /// A stopped sandbox needs it.
    #[error("image {digest} is needed by a stopped sandbox")]
    Needed {
        /// Which image.
        digest: Digest,
    },
    /// Pulls or loads went on for too long.
    #[error("a pull or a load is under way")]
    Busy,
}

/// What became of an image that was to go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Gone,
    InUse,
    Needed,
}

impl Store {
    /// Removes a name; with its last name, or by its digest, the image; and then every artifact
    /// that no image needs. Waits for pulls and loads to end.
    ///
    /// # Errors
    /// When a running sandbox uses the image, or it is `needed`. It stays whole then.
    pub fn remove(&self, name_or_digest: &str, needed: Needed<'_>) -> Result<Removed, RemoveError> {
        let _store = self.no_session(PATIENCE)?.ok_or(RemoveError::Busy)?;
        let (reference, digest) = self.resolve(name_or_digest)?;
        let mut references = self.names()?.remove(&digest).unwrap_or_default();
        let mut removed = Removed {
            references: Vec::new(),
            image: None,
            freed_bytes: 0,
        };
        if reference.is_some() && references.len() > 1 {
            references.retain(|name| Some(name) == reference.as_ref());
            self.remove_names(&references)?;
        } else {
            match self.remove_image(&digest, &references, needed)? {
                Fate::Gone => {}
                Fate::InUse => return Err(RemoveError::InUse { digest }),
                Fate::Needed => return Err(RemoveError::Needed { digest }),
            }
            removed.image = Some(digest);
            removed.freed_bytes = self.collect(&Inventory::take(self)?)?;
        }
        removed.references = references.iter().map(Reference::familiar).collect();
        Ok(removed)
    }

    /// Keeps pulls and loads away; `None` where they do not end in time.
    pub(crate) fn no_session(&self, patience: Duration) -> io::Result<Option<Lock>> {
        Lock::take_within(&self.layout.store_lock(), Mode::Exclusive, patience)
    }

    /// Removes an image with its names, unless somebody uses or needs it. Only under the store's
    /// exclusive lock; its artifacts stay until they are collected.
    pub(crate) fn remove_image(
        &self,
        digest: &Digest,
        names: &[Reference],
        needed: Needed<'_>,
    ) -> io::Result<Fate> {
        let path = self.layout.image_lock(digest);
        let Some(lock) = Lock::take_within(&path, Mode::Exclusive, LOCK_PATIENCE)? else {
            return Ok(Fate::InUse);
        };
        let _unused = lock.unlinked_at_end();
        // Whoever makes a sandbox holds the image until the sandbox can be seen.
        if needed(digest)? {
            return Ok(Fate::Needed);
        }
        self.remove_names(names)?;
        kept::remove(&self.layout, &self.layout.image(digest))?;
        Ok(Fate::Gone)
    }

    fn remove_names(&self, names: &[Reference]) -> io::Result<()> {
        names
            .iter()
            .try_for_each(|name| kept::remove(&self.layout, &self.layout.reference(name)))
    }

    /// Removes the artifacts that no image needs, and what is known of images that are gone; gives
    /// the artifacts' length, in bytes. Only under the store's exclusive lock.
    pub(crate) fn collect(&self, inventory: &Inventory) -> io::Result<u64> {
        let layout = &self.layout;
        // Records first: at no instant does one vouch for something that is gone.
        let (records, described): (Vec<_>, Vec<_>) = inventory
            .unneeded()
            .partition(|(name, _)| layout::is_record_file(name));
        let mut freed_bytes = 0;
        for files in [records, described] {
            for (name, size_bytes) in files {
                remove_file(&layout.artifact(name))?;
                freed_bytes += size_bytes;
            }
            durable::sync_directory(&layout.artifacts())?;
        }
        let (artifacts, images) = (layout.artifacts(), layout.images());
        remove_widows(&layout.stamps(), &[&artifacts, &images], "")?;
        remove_widows(&layout.uses(), &[&images], ".json")?;
        remove_widows(&layout.origins(), &[&images], "")?;
        for records in [layout.images(), layout.references(), layout.origins()] {
            remove_widows(&layout.copy(&records), &[&records], "")?;
        }
        Ok(freed_bytes)
    }
}

/// Removes every file of a directory that has no namesake, `suffix` after its name, in others.
fn remove_widows(directory: &Path, of: &[&Path], suffix: &str) -> io::Result<()> {
    let mut names: BTreeSet<OsString> = BTreeSet::new();
    for others in of {
        for entry in fs::read_dir(others)? {
            names.insert(entry?.file_name());
        }
    }
    let widows: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| {
            let entry = entry?;
            let mut name = entry.file_name();
            name.push(suffix);
            Ok((!names.contains(&name)).then(|| entry.path()))
        })
        .filter_map(io::Result::transpose)
        .collect::<io::Result<_>>()?;
    widows.iter().try_for_each(|path| remove_file(path))
}
