use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::copying::Listing;
use crate::message::{Facts, Lower};
use crate::program;

/// Directories that may contain the library, below the root.
const LIBRARIES: [&str; 2] = ["usr/local/lib", "usr/lib"];
/// Directories of an image that workloads write in, in order of preference.
const WORKING: [&str; 3] = ["usr/share", "usr", "etc"];
/// The limit for the large file, of which every place gets a copy.
const LARGE_MAX_BYTES: u64 = 64 << 20;
/// Directories that are not searched, because every system mounts other filesystems there.
const OTHERS: [&str; 5] = ["proc", "sys", "dev", "run", "tmp"];

/// Returns the files and properties of the system under a root.
///
/// # Errors
/// If neither `lib` has a `python3.*`, or it cannot be read.
pub fn facts(root: &Path) -> Result<Facts> {
    let tree = library(root).with_context(|| {
        format!(
            "cannot find usr/lib/python3.* or usr/local/lib/python3.* below {}",
            root.display()
        )
    })?;
    let tree_files = Listing::read(&tree)?.files.len() as u64;
    let large = largest(root, &tree);
    let working = WORKING.iter().map(|name| root.join(name));
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kib: u64 = memory
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or_default();
    Ok(Facts {
        tree_files,
        large_bytes: large.as_ref().map_or(0, |(size_bytes, _)| *size_bytes),
        lower: Lower {
            tree,
            large: large.map(|(_, path)| path),
        },
        work: working
            .into_iter()
            .find(|path| path.is_dir())
            .unwrap_or_else(|| root.to_owned()),
        memory_bytes: memory_kib << 10,
        kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        has_losetup: program::path("losetup").is_some(),
    })
}

/// Returns the `python3.*` with the most entries.
fn library(root: &Path) -> Option<PathBuf> {
    let found = LIBRARIES
        .iter()
        .filter_map(|name| fs::read_dir(root.join(name)).ok())
        .flatten()
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"python3.")
        })
        .map(|entry| entry.path());
    found.max_by_key(|path| fs::read_dir(path).map_or(0, Iterator::count))
}

/// Returns the largest file of the root's own filesystem, outside the library.
///
/// The device numbers of directories show the end of the filesystem, because files in an overlay
/// have the numbers of their layers.
fn largest(root: &Path, tree: &Path) -> Option<(u64, PathBuf)> {
    let device = fs::metadata(root).ok()?.dev();
    let mut open: Vec<PathBuf> = vec![root.to_owned()];
    let mut largest = None;
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let path = entry.path();
            let skipped = path == tree || OTHERS.iter().any(|name| path == root.join(name));
            if metadata.is_dir() && metadata.dev() == device && !skipped {
                open.push(path);
            } else if metadata.is_file() && metadata.len() <= LARGE_MAX_BYTES {
                largest = largest.max(Some((metadata.len(), path)));
            }
        }
    }
    largest
}
