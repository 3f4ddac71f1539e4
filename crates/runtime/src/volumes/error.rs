use std::io;
use std::path::PathBuf;

use super::VolumeName;

/// Why a volume was not made, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// The host's disk.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// No ext4 is as small or large.
    #[error("cannot lay out an ext4 of {size_bytes} bytes")]
    Layout {
        /// The size.
        size_bytes: u64,
        /// Why not.
        #[source]
        source: ext4_writer::WriteError,
    },
    /// There is one of this name.
    #[error("there is a volume {name} already")]
    Exists {
        /// The name.
        name: VolumeName,
    },
    /// There is none.
    #[error("no such volume: {name}")]
    Missing {
        /// The name.
        name: VolumeName,
    },
    /// A sandbox has it, and would not start without it.
    #[error("volume {name} belongs to {}: remove that first", .sandboxes.join(", "))]
    Needed {
        /// The name.
        name: VolumeName,
        /// The sandboxes' names.
        sandboxes: Vec<String>,
    },
    /// A machine has its disk.
    #[error("volume {name} is in use by sandbox {sandbox}, and only one at a time can write to it")]
    InUse {
        /// The name.
        name: VolumeName,
        /// The sandbox's name.
        sandbox: String,
    },
}
