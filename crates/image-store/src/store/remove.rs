use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use fs_err as fs;

use super::lock::{Lock, Mode};
use super::record;
use super::{FindError, Store, durable, layout};
use crate::digest::Digest;

/// How long a removal waits for pulls and loads to end.
const PATIENCE: Duration = Duration::from_secs(30);

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
    /// Pulls or loads went on for too long.
    #[error("a pull or a load is under way")]
    Busy,
}

impl Store {
    /// Removes a name; with its last name, or by its digest, the image; and then every artifact
    /// that no image needs. Waits for pulls and loads to end.
    ///
    /// # Errors
    /// When a running sandbox uses the image, which then stays whole.
    pub fn remove(&self, name_or_digest: &str) -> Result<Removed, RemoveError> {
        let store = Lock::take_within(&self.layout.store_lock(), Mode::Exclusive, PATIENCE)?;
        let _store = store.ok_or(RemoveError::Busy)?;
        let (reference, digest) = self.resolve(name_or_digest)?;
        let mut references = self.names()?.remove(&digest).unwrap_or_default();
        let keeps_image = reference.is_some() && references.len() > 1;
        if keeps_image {
            references.retain(|name| Some(name) == reference.as_ref());
        }
        let in_use = || RemoveError::InUse { digest };
        let unused = match keeps_image {
            true => None,
            false => {
                let lock = Lock::try_take(&self.layout.image_lock(&digest), Mode::Exclusive)?;
                Some(lock.ok_or_else(in_use)?.unlinked_at_end())
            }
        };
        for name in &references {
            remove_file(&self.layout.reference(name))?;
        }
        durable::sync_directory(&self.layout.references())?;
        let mut removed = Removed {
            references: references.iter().map(|name| name.familiar()).collect(),
            image: None,
            freed_bytes: 0,
        };
        if unused.is_some() {
            remove_file(&self.layout.image(&digest))?;
            durable::sync_directory(&self.layout.images())?;
            removed.image = Some(digest);
            removed.freed_bytes = self.collect()?;
        }
        Ok(removed)
    }

    /// Removes the artifacts that no image needs; gives their length, in bytes. Only under the
    /// store's exclusive lock.
    fn collect(&self) -> io::Result<u64> {
        let mut needed = BTreeSet::new();
        for digest in self.digests()? {
            let Some(record) = record::read_image(&self.layout, &digest)? else {
                continue;
            };
            needed.extend([
                record.fsmeta.file,
                record.vmdk.file,
                layout::record_file(&record.chain_key),
            ]);
            for layer in record.layers {
                needed.extend([layer.erofs.file, layout::record_file(&layer.diff_id)]);
            }
        }
        let mut freed_bytes = 0;
        for entry in fs::read_dir(self.layout.artifacts())? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_none_or(|name| !needed.contains(name)) {
                freed_bytes += entry.metadata()?.len();
                remove_file(&entry.path())?;
            }
        }
        durable::sync_directory(&self.layout.artifacts())?;
        Ok(freed_bytes)
    }
}

fn remove_file(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
