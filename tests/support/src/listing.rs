//! The files of a store, for comparison.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sha2::{Digest as _, Sha256};

/// The files of a store by path, each with the digest of its content.
pub type Listing = BTreeMap<PathBuf, String>;

/// Lists every file below `home`.
///
/// # Errors
/// If a file or directory cannot be read.
pub fn list(home: &Path) -> Result<Listing> {
    let mut listing = Listing::new();
    let mut directories = vec![home.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let hash = Sha256::digest(fs::read(&path)?);
                let relative = path.strip_prefix(home)?.to_owned();
                let digest: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                listing.insert(relative, digest);
            }
        }
    }
    Ok(listing)
}

/// Returns the entries that only one of two listings has, for an error.
#[must_use]
pub fn difference(expected: &Listing, found: &Listing) -> String {
    let only = |a: &Listing, b: &Listing| {
        let files: Vec<_> = a
            .iter()
            .filter(|(path, digest)| b.get(*path) != Some(digest))
            .collect();
        format!("{files:?}")
    };
    format!(
        "the stores differ: expected {}, found {}",
        only(expected, found),
        only(found, expected)
    )
}
