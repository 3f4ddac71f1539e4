use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;
use sha2::{Digest as _, Sha256};

/// Files by path, each with the digest of its content.
pub(super) type Listing = BTreeMap<PathBuf, [u8; 32]>;

/// Lists every file below `directory`; the list is empty if it does not exist.
pub(super) fn list(directory: &Path) -> Result<Listing> {
    let mut listing = Listing::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(inner) = directories.pop() {
        if !inner.exists() {
            continue;
        }
        for entry in fs::read_dir(&inner)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let digest = Sha256::digest(fs::read(&path)?).into();
                listing.insert(path.strip_prefix(directory)?.to_owned(), digest);
            }
        }
    }
    Ok(listing)
}

/// Removes the stamps of disks, which a start writes and nothing needs.
pub(super) fn without_disk_stamps(mut listing: Listing) -> Listing {
    let is_disk_stamp = |path: &Path| {
        path.parent()
            .is_some_and(|parent| parent.ends_with("stamps"))
            && path
                .extension()
                .is_some_and(|extension| extension == "json")
    };
    listing.retain(|path, _| !is_disk_stamp(path));
    listing
}

/// Returns the files that only one of two listings has, or that differ; `None` if they are equal.
pub(super) fn difference(expected: &Listing, found: &Listing) -> Option<String> {
    let only = |these: &Listing, those: &Listing| -> Vec<PathBuf> {
        let differing = these
            .iter()
            .filter(|(path, digest)| those.get(*path) != Some(digest));
        differing.map(|(path, _)| path.clone()).collect()
    };
    (expected != found).then(|| {
        format!(
            "expected {:?}, found {:?}",
            only(expected, found),
            only(found, expected)
        )
    })
}
