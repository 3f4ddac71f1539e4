use std::io;
use std::path::PathBuf;

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::VolumeName;
use durable_files::flock;

use crate::Home;

/// A volume that a machine uses, and its access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeUse {
    /// The volume.
    pub volume: VolumeName,
    /// True if the machine only reads it, so that others may read it too.
    pub read_only: bool,
}

/// A failure to lock the volumes of a machine.
#[derive(Debug, thiserror::Error)]
pub enum VolumeLockError {
    /// Another machine uses the volume.
    #[error("volume {volume} is in use by another sandbox")]
    InUse {
        /// The volume's name.
        volume: VolumeName,
    },
    /// The volume's lock cannot be opened.
    #[error("cannot open {}", .path.display())]
    Io {
        /// The volume's lock.
        path: PathBuf,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
}

/// Locks a machine's volumes, for as long as the returned files are open.
///
/// # Errors
/// If another machine uses a volume, or its lock cannot be opened.
pub fn lock_all(home: &Home, uses: &[VolumeUse]) -> Result<Vec<fs::File>, VolumeLockError> {
    let mut held = Vec::new();
    for VolumeUse { volume, read_only } in uses {
        let file = take(home, volume, *read_only)?;
        held.push(file.ok_or_else(|| VolumeLockError::InUse {
            volume: volume.clone(),
        })?);
    }
    Ok(held)
}

/// Returns true if a machine uses the volume in a way that excludes the wanted use.
pub(crate) fn in_use(home: &Home, wanted: &VolumeUse) -> Result<bool, VolumeLockError> {
    Ok(take(home, &wanted.volume, wanted.read_only)?.is_none())
}

fn take(
    home: &Home,
    volume: &VolumeName,
    read_only: bool,
) -> Result<Option<fs::File>, VolumeLockError> {
    let path = home.volume(volume).lock();
    let io_error = |source| VolumeLockError::Io {
        path: path.clone(),
        source,
    };
    let file = fs::File::open(&path).map_err(io_error)?;
    let kind = if read_only {
        flock::Kind::Shared
    } else {
        flock::Kind::Exclusive
    };
    let taken = flock::try_for_a_moment(&file, kind).map_err(io_error)?;
    Ok(taken.then_some(file))
}
