use ext4_writer::Image;
use generations::{OpenError, State};
use msb_runtime::UpperPool;
use serde::{Deserialize, Serialize};

/// The state of a disk's filesystem at the moment of a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SnapshotConsistency {
    /// The sandbox was stopped, and its guest had unmounted the disk.
    Clean,
    /// The sandbox was running, and its guest had written everything and kept writers waiting.
    Frozen,
    /// As after a power cut: what was synced is there, and the journal is replayed at the next start.
    #[default]
    Crash,
}

impl SnapshotConsistency {
    /// Returns the word that JSON has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Frozen => "frozen",
            Self::Crash => "crash",
        }
    }

    /// Returns the consistency of a state, of which `promised` is known if it is whole. The filesystem
    /// itself says whether it is: a guest can say anything.
    pub(super) fn of(pool: &UpperPool, state: &State, promised: Self) -> Result<Self, OpenError> {
        // A freeze and a thaw write the superblock, so the newest generation has it, and the others need not be
        // opened.
        let newest = State {
            size_bytes: state.size_bytes,
            generations: state.generations.last().copied().into_iter().collect(),
        };
        let of_newest = Image::needs_recovery(&pool.pool.open_snapshot(&newest)?);
        let needs_recovery = match of_newest {
            Err(_) => Image::needs_recovery(&pool.pool.open_snapshot(state)?),
            of_newest => of_newest,
        };
        Ok(match needs_recovery {
            Ok(false) => promised,
            Ok(true) | Err(_) => Self::Crash,
        })
    }
}
