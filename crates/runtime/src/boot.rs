use std::io::{self, Cursor};
use std::path::PathBuf;

use crate::{Home, durable};

/// The boot disk is not there and cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the boot disk {}", .path.display())]
pub struct BootDiskError {
    /// Where it belongs.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// The boot disk of this build's agent, written into the home the first time, and again where it
/// is not what was written.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn boot_disk(home: &Home) -> Result<PathBuf, BootDiskError> {
    let path = home
        .boot_disks()
        .join(format!("{}.erofs", boot_disk::identity()));
    let written = content().and_then(|bytes| {
        if durable::holds(&path, &bytes) {
            return Ok(());
        }
        durable::publish_bytes(&path, &bytes)
    });
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(BootDiskError { path, source }),
    }
}

/// What this build's boot disk holds.
pub(crate) fn content() -> io::Result<Vec<u8>> {
    let mut disk = Cursor::new(Vec::new());
    boot_disk::write(&mut disk).map_err(io::Error::other)?;
    Ok(disk.into_inner())
}
