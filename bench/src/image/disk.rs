use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Result;
use rustix::fs::{Advice, fadvise};

use crate::layout::Blob;

/// What `st_blocks` counts (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// What a tree takes on the disk. A file with several names counts once.
pub(super) fn allocated_bytes(directory: &Path) -> Result<u64> {
    let mut seen = std::collections::HashSet::new();
    let mut directories = vec![directory.to_owned()];
    let mut total_bytes = 0;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if seen.insert((metadata.dev(), metadata.ino())) {
                total_bytes += metadata.blocks() * STAT_BLOCK_BYTES;
            }
            if metadata.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    Ok(total_bytes)
}

/// Lets the kernel forget what it has of the blobs in memory.
pub(super) fn drop_cached(blobs: &[Blob]) -> Result<()> {
    for blob in blobs {
        let file = File::open(&blob.path)?;
        // Pages that are not yet written stay.
        rustix::fs::fdatasync(&file)?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}
