use std::io::{self, Cursor};
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis};
use durable_files::FileState;
use image_store::VerifyMode;

use crate::{Home, stamp};

/// The boot disk does not exist and cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the boot disk {}", .path.display())]
pub struct BootDiskError {
    /// The path of the boot disk in the home.
    pub path: PathBuf,
    /// The I/O error that caused it.
    #[source]
    pub source: io::Error,
}

impl Diagnose for BootDiskError {
    fn diagnosis(&self) -> Diagnosis {
        self.source.diagnosis()
    }
}

/// Returns the path of the boot disk with this build's agent, and writes the disk if necessary.
/// It is written if it is missing or differs from its content in this build. With [`VerifyMode::Stamp`]
/// it is compared only if it has changed since the last comparison.
///
/// # Errors
/// If the disk cannot be written.
pub(crate) fn boot_disk(home: &Home, trust: VerifyMode) -> Result<PathBuf, BootDiskError> {
    let path = home
        .boot_disks()
        .join(format!("{}.erofs", boot_disk::identity()));
    let stamp = path.with_extension("stamp.json");
    let state = FileState::read(&path).ok();
    if trust == VerifyMode::Stamp && state.is_some() && state == stamp::read(&stamp) {
        return Ok(path);
    }
    let written = content().and_then(|bytes| {
        if durable_files::holds(&path, &bytes) {
            if let Some(state) = state.filter(FileState::is_at_rest) {
                stamp::put(&stamp, &state);
            }
            return Ok(());
        }
        // The machine of another start may be confined to the file that exists.
        durable_files::publish_once(&path, &bytes)
    });
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(BootDiskError { path, source }),
    }
}

/// Returns the content of this build's boot disk.
pub(crate) fn content() -> io::Result<Vec<u8>> {
    let mut disk = Cursor::new(Vec::new());
    boot_disk::write(&mut disk).map_err(io::Error::other)?;
    Ok(disk.into_inner())
}
