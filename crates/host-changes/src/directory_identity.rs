use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The number of a directory. A directory that is made later has another time of its birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DirectoryIdentity {
    device: u64,
    inode: u64,
    /// The time since the epoch; `None` if the filesystem does not keep it.
    born: Option<Duration>,
}

impl DirectoryIdentity {
    pub(super) fn new(metadata: &Metadata) -> Self {
        let born = metadata.created().ok();
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            born: born.and_then(|born| born.duration_since(UNIX_EPOCH).ok()),
        }
    }

    /// Returns the name of the record of an apply to the directory.
    pub(super) fn record_name(&self) -> String {
        format!("{}-{}.json", self.device, self.inode)
    }
}
