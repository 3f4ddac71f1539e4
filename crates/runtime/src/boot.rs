use std::io::{self, Cursor};
use std::path::PathBuf;

use image_store::Trust;

use crate::stamp::{self, FileState};
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
/// is not what was written. With [`Trust::Stamp`] it is compared when it has changed since.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn boot_disk(home: &Home, trust: Trust) -> Result<PathBuf, BootDiskError> {
    let path = home
        .boot_disks()
        .join(format!("{}.erofs", boot_disk::identity()));
    let stamp = path.with_extension("stamp.json");
    let state = FileState::of(&path).ok();
    if trust == Trust::Stamp && state.is_some() && state == stamp::read(&stamp) {
        return Ok(path);
    }
    let written = content().and_then(|bytes| {
        if durable::holds(&path, &bytes) {
            if let Some(state) = state.filter(FileState::is_at_rest) {
                stamp::put(&stamp, &state);
            }
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
