//! Named volumes: ext4 disks that outlive sandboxes.
//!
//! ```text
//! volumes/.lock              held shared by who makes one or names it in a new sandbox, exclusive by who removes one
//! volumes/.new-*             not one yet, or none any more; without a holder of the lock it is of no use
//! volumes/NAME/volume.json   what it is
//!             /disk.ext4     sparse; `data/` is what sandboxes see
//!             /lock          held by each machine that has it: shared to read, exclusive to write
//! ```

mod disk;
mod error;
mod guard;
mod hold;
mod name;
mod remove;
mod volume;

pub use error::VolumeError;
pub use name::{InvalidVolumeName, VolumeName};
pub use volume::{Volume, VolumeSpec};

pub(crate) use disk::write as write_disk;
pub(crate) use guard::Guard;
pub(crate) use hold::{HoldError, Use, hold, in_use};

use std::path::PathBuf;

use crate::Home;

/// How large a volume's disk is where nobody says: 8 GiB. It is sparse.
pub const VOLUME_BYTES: u64 = 8 << 30;

/// The files of one volume.
#[derive(Debug, Clone)]
pub(crate) struct VolumeFiles {
    pub(crate) directory: PathBuf,
}

impl VolumeFiles {
    pub(crate) fn spec(&self) -> PathBuf {
        self.directory.join("volume.json")
    }

    pub(crate) fn disk(&self) -> PathBuf {
        self.directory.join("disk.ext4")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.directory.join("lock")
    }
}

impl Home {
    pub(crate) fn volume(&self, name: &VolumeName) -> VolumeFiles {
        VolumeFiles {
            directory: self.volumes().join(name.as_str()),
        }
    }
}
