use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::fs::StatVfsMountFlags;

use crate::copying::{KEPT, Listing, copied};
use crate::layered::Layered;
use crate::message::{BenchTarget, Lower, Mounted};
use crate::mount::Mount;

/// The prefix of names that a workload creates and that are removed after it.
const MADE: &str = "msb-bench-made-";
/// `TMPFS_MAGIC` (uapi/linux/magic.h).
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// A place with everything that workloads need there. Dropping it removes the files.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) name: String,
    /// The root of the library in this place.
    pub(crate) tree: PathBuf,
    pub(crate) listing: Listing,
    /// The library's files of Python source.
    pub(crate) python: Vec<PathBuf>,
    pub(crate) large: Option<PathBuf>,
    /// True if the place is on tmpfs.
    pub(crate) tmpfs: bool,
    /// True if the place is read-only.
    pub(crate) read_only: bool,
    work: PathBuf,
    made_work: bool,
    _mount: Option<Held>,
}

/// The mount of a place, held while it is needed.
#[derive(Debug)]
enum Held {
    Overlay(#[expect(dead_code, reason = "held, then unmounted")] Layered),
    Disk(#[expect(dead_code, reason = "held, then unmounted")] Mount),
}

impl Fixture {
    /// Prepares a place and its files.
    pub(crate) fn set(place: &BenchTarget, source: &Lower, with_large: bool) -> Result<Self> {
        let made_work = !place.work.exists();
        fs::create_dir_all(&place.work)
            .with_context(|| format!("cannot create {}", place.work.display()))?;
        remove(&place.work, &[MADE, KEPT])?;
        let (lower, mount) = files(place, source, with_large)?;
        let listing = Listing::read(&lower.tree)?;
        let is_python = |path: &&PathBuf| path.extension().is_some_and(|name| name == "py");
        let filesystem = rustix::fs::statfs(&place.work)?;
        let flags = rustix::fs::statvfs(&place.work)?.f_flag;
        Ok(Self {
            name: place.name.clone(),
            tree: lower.tree,
            python: listing.files.iter().filter(is_python).cloned().collect(),
            listing,
            large: lower.large.filter(|_| with_large),
            tmpfs: u64::try_from(filesystem.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC),
            read_only: flags.contains(StatVfsMountFlags::RDONLY),
            work: place.work.clone(),
            made_work,
            _mount: mount,
        })
    }

    /// Returns a path for a file that is removed after the workload. It lies directly in the
    /// place's directory, so that in an overlay its parent is a merged directory.
    pub(crate) fn made(&self, name: impl std::fmt::Display) -> PathBuf {
        self.work.join(format!("{MADE}{name}"))
    }

    /// Returns a path for a file that stays for the next rounds.
    pub(crate) fn kept(&self, name: impl std::fmt::Display) -> PathBuf {
        self.work.join(format!("{KEPT}{name}"))
    }

    /// Removes the files that workloads created.
    pub(crate) fn clear(&self) -> Result<()> {
        remove(&self.work, &[MADE])
    }

    /// Returns the used space of the filesystem, in bytes.
    pub(crate) fn used_bytes(&self) -> Result<i64> {
        let space = rustix::fs::statvfs(&self.work)?;
        let used_bytes = space.f_blocks.saturating_sub(space.f_bfree) * space.f_frsize;
        Ok(i64::try_from(used_bytes)?)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // An error cannot be reported here; the next run removes leftovers.
        let _ = remove(&self.work, &[MADE, KEPT]);
        if self.made_work {
            let _ = fs::remove_dir(&self.work);
        }
    }
}

/// Returns the files of a place, and the mount that provides them, if any.
fn files(place: &BenchTarget, source: &Lower, with_large: bool) -> Result<(Lower, Option<Held>)> {
    match (&place.mounted, &place.lower) {
        (Some(Mounted::Overlay(overlay)), _) => {
            let layered = Layered::mount(overlay, &place.work, source, with_large)?;
            Ok((layered.lower.clone(), Some(Held::Overlay(layered))))
        }
        (Some(Mounted::Disk(disk)), _) => {
            let mount = Mount::from_disk(disk, &place.work)?;
            let lower = source.below(Path::new("/"))?.within(&place.work);
            Ok((lower, Some(Held::Disk(mount))))
        }
        (None, Some(lower)) => Ok((lower.clone(), None)),
        (None, None) => Ok((copied(&place.work, source, with_large)?, None)),
    }
}

/// Removes everything in a directory whose name has one of these prefixes.
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
