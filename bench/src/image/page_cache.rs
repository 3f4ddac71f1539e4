use std::fs::File;

use anyhow::Result;
use rustix::fs::{Advice, fadvise};

use crate::layout::Blob;

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
