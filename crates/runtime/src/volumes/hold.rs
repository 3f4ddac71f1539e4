use std::io;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use fs_err as fs;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::VolumeName;
use crate::Home;

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

/// How often a lock that is held is tried before that counts, and how long between: whoever looks has it
/// for an instant.
const LOOKS: u32 = 5;
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

fn take(home: &Home, volume: &VolumeName, read_only: bool) -> Result<Option<fs::File>, HoldError> {
    let path = home.volume(volume).lock();
    let io_error = |source| HoldError::Io {
        path: path.clone(),
        source,
    };
    let file = fs::File::open(&path).map_err(io_error)?;
    let operation = match read_only {
        true => FlockOperation::NonBlockingLockShared,
        false => FlockOperation::NonBlockingLockExclusive,
    };
    for _ in 0..LOOKS {
        match flock(&file, operation) {
            Ok(()) => return Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => sleep(LOOK_INTERVAL),
            Err(error) => return Err(io_error(error.into())),
        }
    }
    Ok(None)
}

/// The right to name volumes in a new sandbox, or to remove one. Nobody has the one while another has
/// the other.
#[derive(Debug)]
pub(crate) struct Guard(#[expect(dead_code, reason = "it is held, not used")] fs::File);

impl Guard {
    pub(crate) fn to_name(home: &Home) -> io::Result<Self> {
        Self::take(home, FlockOperation::LockShared)
    }

    pub(crate) fn to_remove(home: &Home) -> io::Result<Self> {
        Self::take(home, FlockOperation::LockExclusive)
    }

    fn take(home: &Home, operation: FlockOperation) -> io::Result<Self> {
        fs::create_dir_all(home.volumes())?;
        let file = fs::File::create(home.volumes().join(".lock"))?;
        flock(&file, operation)?;
        Ok(Self(file))
    }
}
