use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Result;

/// What `st_blocks` counts (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// What a tree takes on the disk. A file with several names counts once.
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

/// What a file takes on the disk, however long it is.
pub(crate) fn allocated_file_bytes(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path)?.blocks() * STAT_BLOCK_BYTES)
}
