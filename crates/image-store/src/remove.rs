use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use fs_err as fs;
use oci_image::{Digest, Reference};

use super::inventory::Inventory;
use super::kept::{self, remove_file};
use super::lock::{Lock, Mode};
use super::{FindError, Store, layout};

/// Time for which a removal waits for pulls and loads to end.
const SESSIONS_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which a removal waits for an image's lock, which a sweep for leftovers holds for an
/// instant.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);

/// A callback that returns true if a stopped sandbox needs an image that is not in use.
pub type Needed<'a> = &'a dyn Fn(&Digest) -> io::Result<bool>;

/// Result of a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Removed names, in docker's short form.
    pub references: Vec<String>,
    /// Image that was removed with its last name; `None` if it has further names.
    pub image: Option<Digest>,
    /// Length of the removed artifacts, in bytes.
    pub freed_bytes: u64,
}

/// An error that ended a removal before it was complete.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// The image does not exist.
    #[error("cannot remove the image")]
    Find(#[from] FindError),
    /// The store cannot be changed.
    #[error("cannot remove from the store")]
    Io(#[from] io::Error),
    /// A running sandbox uses the image.
    #[error("image {digest} is in use by a running sandbox")]
    InUse {
        /// Digest of the manifest.
        digest: Digest,
    },
    /// A stopped sandbox needs the image.
    #[error("image {digest} is needed by a stopped sandbox")]
    Needed {
        /// Digest of the manifest.
        digest: Digest,
    },
    /// Pulls or loads did not end in time.
    #[error("a pull or a load is running")]
    Busy,
}

/// Outcome of the removal of an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RemoveOutcome {
    Gone,
    InUse,
    Needed,
}

impl Diagnose for RemoveError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Find(source) => source.diagnosis(),
            Self::Io(source) => source.diagnosis(),
            Self::InUse { digest } | Self::Needed { digest } => {
                Diagnosis::new(ErrorKind::ImageInUse).detail("digest", digest.to_string())
            }
            Self::Busy => Diagnosis::new(ErrorKind::Busy),
        }
    }
}

impl Store {
    /// Removes a name; with its last name, or if it is selected by digest, also the image; and then
    /// every artifact that no image needs. Waits for pulls and loads to end.
    ///
    /// # Errors
    /// If a running sandbox uses the image, or it is `needed`; it then stays intact.
    pub fn remove(&self, name_or_digest: &str, needed: Needed<'_>) -> Result<Removed, RemoveError> {
        let _store = self
            .no_session(SESSIONS_TIMEOUT)?
            .ok_or(RemoveError::Busy)?;
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
                RemoveOutcome::Gone => {}
                RemoveOutcome::InUse => return Err(RemoveError::InUse { digest }),
                RemoveOutcome::Needed => return Err(RemoveError::Needed { digest }),
            }
            removed.image = Some(digest);
            removed.freed_bytes = self.collect(&Inventory::take(self)?)?;
        }
        removed.references = references.iter().map(Reference::familiar).collect();
        Ok(removed)
    }

    /// Prevents pulls and loads while the lock is held; `None` if those that run do not end in
    /// time.
    pub(crate) fn no_session(&self, timeout: Duration) -> io::Result<Option<Lock>> {
        Lock::take_within(&self.layout.store_lock(), Mode::Exclusive, timeout)
    }

    /// Removes an image with its names, unless it is in use or needed. Requires the store's
    /// exclusive lock. Its artifacts stay until they are collected.
    pub(crate) fn remove_image(
        &self,
        digest: &Digest,
        names: &[Reference],
        needed: Needed<'_>,
    ) -> io::Result<RemoveOutcome> {
        let path = self.layout.image_lock(digest);
        let Some(lock) = Lock::take_within(&path, Mode::Exclusive, LOCK_TIMEOUT)? else {
            return Ok(RemoveOutcome::InUse);
        };
        let _unused = lock.unlinked_at_end();
        // A process that creates a sandbox holds the image's lock until the sandbox is visible.
        if needed(digest)? {
            return Ok(RemoveOutcome::Needed);
        }
        self.remove_names(names)?;
        kept::remove(&self.layout, &self.layout.image(digest))?;
        Ok(RemoveOutcome::Gone)
    }

    fn remove_names(&self, names: &[Reference]) -> io::Result<()> {
        names
            .iter()
            .try_for_each(|name| kept::remove(&self.layout, &self.layout.reference(name)))
    }

    /// Removes the artifacts that no image needs, and the leftover records of images that no longer
    /// exist. Returns the length of the artifacts, in bytes. Requires the store's exclusive lock.
    pub(crate) fn collect(&self, inventory: &Inventory) -> io::Result<u64> {
        let layout = &self.layout;
        // Records go first, so that a record never describes a missing artifact.
        let (records, described): (Vec<_>, Vec<_>) = inventory
            .unneeded()
            .partition(|(name, _)| layout::is_record_file(name));
        let mut freed_bytes = 0;
        for files in [records, described] {
            for (name, size_bytes) in files {
                remove_file(&layout.artifact(name))?;
                freed_bytes += size_bytes;
            }
            durable_files::sync_directory(&layout.artifacts())?;
        }
        let (artifacts, images) = (layout.artifacts(), layout.images());
        remove_widows(&layout.stamps(), &[&artifacts, &images], "")?;
        remove_widows(&layout.compressed(), &[&artifacts], "")?;
        remove_widows(&layout.uses(), &[&images], ".json")?;
        remove_widows(&layout.origins(), &[&images], "")?;
        for kept in [artifacts, images, layout.references(), layout.origins()] {
            remove_widows(&layout.copy(&kept), &[&kept], "")?;
        }
        Ok(freed_bytes)
    }
}

/// Removes every file whose name, followed by `suffix`, does not exist in any of the other
/// directories.
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
