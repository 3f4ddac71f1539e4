use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Result;

/// The unit of `st_blocks` (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// Returns the bytes that a tree occupies on the disk. A file with several names counts once.
pub(crate) fn allocated_bytes(directory: &Path) -> Result<u64> {
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

/// Returns the bytes that a file occupies on the disk. They can be fewer than its length.
pub(crate) fn allocated_file_bytes(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path)?.blocks() * STAT_BLOCK_BYTES)
}
