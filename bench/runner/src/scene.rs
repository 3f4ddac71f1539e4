use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::copying::{KEPT, Listing, copied};
use crate::layered::Layered;
use crate::message::{Lower, Place};

/// How names begin that a workload makes and that go after it.
const MADE: &str = "msb-bench-made-";
/// `TMPFS_MAGIC`, linux/magic.h.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// A place with all that workloads need there, removed with this value.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) name: String,
    /// The library, as it lies here.
    pub(crate) tree: PathBuf,
    pub(crate) listing: Listing,
    /// Files of the library that are Python's source.
    pub(crate) python: Vec<PathBuf>,
    pub(crate) large: Option<PathBuf>,
    /// Whether everything is in memory here.
    pub(crate) tmpfs: bool,
    work: PathBuf,
    made_work: bool,
    _layered: Option<Layered>,
}

impl Scene {
    /// A place with its files.
    pub(crate) fn set(place: &Place, source: &Lower, with_large: bool) -> Result<Self> {
        let made_work = !place.work.exists();
        fs::create_dir_all(&place.work)
            .with_context(|| format!("cannot make {}", place.work.display()))?;
        remove(&place.work, &[MADE, KEPT])?;
        let mount = |overlay| Layered::mount(overlay, &place.work, source, with_large);
        let layered = place.overlay.as_ref().map(mount).transpose()?;
        let lower = match (&layered, &place.lower) {
            (Some(layered), _) => layered.lower.clone(),
            (None, Some(lower)) => lower.clone(),
            (None, None) => copied(&place.work, source, with_large)?,
        };
        let listing = Listing::of(&lower.tree)?;
        let is_python = |path: &&PathBuf| path.extension().is_some_and(|name| name == "py");
        let filesystem = rustix::fs::statfs(&place.work)?;
        Ok(Self {
            name: place.name.clone(),
            tree: lower.tree,
            python: listing.files.iter().filter(is_python).cloned().collect(),
            listing,
            large: lower.large.filter(|_| with_large),
            tmpfs: u64::try_from(filesystem.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC),
            work: place.work.clone(),
            made_work,
            _layered: layered,
        })
    }

    /// A name for something that goes after the workload. It lies in the place's own directory and
    /// not below it, so that in an overlay it lies in a merged one.
    pub(crate) fn made(&self, name: impl std::fmt::Display) -> PathBuf {
        self.work.join(format!("{MADE}{name}"))
    }

    /// A name for something that stays for the next rounds.
    pub(crate) fn kept(&self, name: impl std::fmt::Display) -> PathBuf {
        self.work.join(format!("{KEPT}{name}"))
    }

    /// Removes what workloads made.
    pub(crate) fn clear(&self) -> Result<()> {
        remove(&self.work, &[MADE])
    }

    /// Bytes of the filesystem that are in use.
    pub(crate) fn used_bytes(&self) -> Result<i64> {
        let space = rustix::fs::statvfs(&self.work)?;
        let used_bytes = space.f_blocks.saturating_sub(space.f_bfree) * space.f_frsize;
        Ok(i64::try_from(used_bytes)?)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Nobody is left to be told; what stays is removed by the next run.
        let _ = remove(&self.work, &[MADE, KEPT]);
        if self.made_work {
            let _ = fs::remove_dir(&self.work);
        }
    }
}

/// Everything in a directory whose name begins so.
fn remove(directory: &Path, beginnings: &[&str]) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let begins = |beginning: &&str| name.as_encoded_bytes().starts_with(beginning.as_bytes());
        if !beginnings.iter().any(begins) {
            continue;
        }
        let removed = if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        removed.with_context(|| format!("cannot remove {}", entry.path().display()))?;
    }
    Ok(())
}
