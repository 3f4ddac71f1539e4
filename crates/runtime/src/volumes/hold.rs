use std::io;
use std::path::PathBuf;

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::VolumeName;
use crate::{Home, flock};

/// A volume that a machine has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Use {
    pub(crate) volume: VolumeName,
    pub(crate) read_only: bool,
}

/// Why a machine cannot have its volumes.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Another machine has it.
    #[error("volume {volume} is in use by another sandbox")]
    InUse {
        /// Which.
        volume: VolumeName,
    },
    /// It cannot be opened.
    #[error("cannot open {}", .path.display())]
    Io {
        /// Its lock.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// Takes a machine's volumes, for as long as the files live.
pub(crate) fn hold(home: &Home, uses: &[Use]) -> Result<Vec<fs::File>, HoldError> {
    let mut held = Vec::new();
    for Use { volume, read_only } in uses {
        let file = take(home, volume, *read_only)?;
        held.push(file.ok_or_else(|| HoldError::InUse {
            volume: volume.clone(),
        })?);
    }
    Ok(held)
}

/// Whether a machine has the volume in a way that keeps another from having it so.
pub(crate) fn in_use(home: &Home, wanted: &Use) -> Result<bool, HoldError> {
    Ok(take(home, &wanted.volume, wanted.read_only)?.is_none())
}

fn take(home: &Home, volume: &VolumeName, read_only: bool) -> Result<Option<fs::File>, HoldError> {
    let path = home.volume(volume).lock();
    let io_error = |source| HoldError::Io {
        path: path.clone(),
        source,
    };
    let file = fs::File::open(&path).map_err(io_error)?;
    let kind = match read_only {
        true => flock::Kind::Shared,
        false => flock::Kind::Exclusive,
    };
    let taken = flock::try_for_a_moment(&file, kind).map_err(io_error)?;
    Ok(taken.then_some(file))
}
