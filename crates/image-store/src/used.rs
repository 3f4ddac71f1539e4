//! The time at which an image was last used: the modification time of an empty file.

use std::io;
use std::time::SystemTime;

use fs_err as fs;
use oci_image::Digest;

use super::layout::Layout;

/// Records that the image is used now. The file is not synced, and errors are ignored: a lost
/// record only makes the image look less recently used.
pub fn note(layout: &Layout, manifest: &Digest) {
    if let Ok(file) = durable_files::open_or_create(&layout.used(manifest)) {
        let _ = file.file().set_modified(SystemTime::now());
    }
}

/// Returns the time of the image's last use, or else the time at which its record was written.
pub fn last(layout: &Layout, manifest: &Digest) -> io::Result<SystemTime> {
    fs::metadata(layout.used(manifest))
        .or_else(|_| fs::metadata(layout.image(manifest)))?
        .modified()
}
