use ext4_writer::Image;
use generations::{OpenError, State};
use serde::{Deserialize, Serialize};

use crate::sandbox::UpperPool;

/// The state of a disk's filesystem at the moment of a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Consistency {
    /// The sandbox was stopped, and its guest had unmounted the disk.
    Clean,
    /// The sandbox was running, and its guest had written everything and kept writers waiting.
    Frozen,
    /// As after a power cut: what was synced is there, and the journal is replayed at the next start.
    #[default]
    Crash,
}

impl Consistency {
    /// Returns the consistency of a state, of which `promised` is known if it is whole. The filesystem
    /// itself says whether it is: a guest can say anything.
    pub(super) fn of(pool: &UpperPool, state: &State, promised: Self) -> Result<Self, OpenError> {
        let snapshot = pool.pool.open_snapshot(state)?;
        Ok(match Image::needs_recovery(&snapshot) {
            Ok(false) => promised,
            Ok(true) | Err(_) => Self::Crash,
        })
    }
}
