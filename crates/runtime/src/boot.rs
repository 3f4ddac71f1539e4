use std::io;
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

/// The boot disk of this build's agent, written into the home the first time.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn boot_disk(home: &Home) -> Result<PathBuf, BootDiskError> {
    let path = home
        .boot_disks()
        .join(format!("{}.erofs", boot_disk::identity()));
    if !path.is_file() {
        durable::publish(&path, |file| {
            boot_disk::write(file).map(drop).map_err(io::Error::other)
        })
        .map_err(|source| BootDiskError {
            path: path.clone(),
            source,
        })?;
    }
    Ok(path)
}
