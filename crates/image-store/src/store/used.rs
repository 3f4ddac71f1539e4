//! When an image was last used: the modification time of an empty file of its own.

use std::io;
use std::time::SystemTime;

use fs_err as fs;

use super::layout::Layout;
use crate::digest::Digest;

/// Notes that the image is used now. Not synced: a use that is forgotten makes the image look
/// older than it is, and harms nothing else; nor does a failure.
pub(crate) fn note(layout: &Layout, manifest: &Digest) {
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(layout.used(manifest));
    if let Ok(file) = file {
        let _ = file.file().set_modified(SystemTime::now());
    }
}

/// When the image was last used; else when its record was written.
pub(crate) fn last(layout: &Layout, manifest: &Digest) -> io::Result<SystemTime> {
    fs::metadata(layout.used(manifest))
        .or_else(|_| fs::metadata(layout.image(manifest)))?
        .modified()
}
