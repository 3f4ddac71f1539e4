use std::fs::File;

use anyhow::Result;
use rustix::fs::{Advice, fadvise};

use crate::layout::Blob;

/// Removes the blobs from the kernel's page cache.
pub(super) fn drop_cached(blobs: &[Blob]) -> Result<()> {
    for blob in blobs {
        let file = File::open(&blob.path)?;
        // Dirty pages cannot be dropped.
        rustix::fs::fdatasync(&file)?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}
