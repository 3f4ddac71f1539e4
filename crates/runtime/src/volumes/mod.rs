//! Named volumes: ext4 disks that outlive sandboxes.
//!
//! ```text
//! volumes/.lock              held shared to create a volume or name one in a new sandbox,
//!                            exclusive to remove one
//! volumes/.new-*             unfinished or half removed; a leftover while nothing holds the lock
//! volumes/NAME/volume.json   the description
//!             /disk.ext4     sparse; sandboxes see `data/`
//!             /lock          held by each machine that uses it: shared to read, exclusive to write
//! ```

mod disk;
mod error;
mod guard;
mod locks;
mod name;
mod remove;
mod volume;

pub use error::{VolumeConflict, VolumeError};
pub use name::{InvalidVolumeName, VolumeName};
pub use volume::{Volume, VolumeSpec};

pub(crate) use disk::write as write_disk;
pub(crate) use guard::Guard;
pub(crate) use locks::in_use;
pub use locks::{VolumeLockError, VolumeUse, lock_all};

use std::path::PathBuf;

use crate::Home;

/// Default size of a volume's disk: 8 GiB. The disk is sparse.
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
