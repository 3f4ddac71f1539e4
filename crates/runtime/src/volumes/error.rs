use std::path::PathBuf;
use std::{fmt, io};

use super::VolumeName;

/// A failure to create, find or remove a volume.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// A file or directory of the volumes cannot be used.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// The failed operation, for the message `cannot … PATH`.
        action: &'static str,
        /// The file or directory of the operation.
        path: PathBuf,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
    /// An ext4 of this size cannot be laid out.
    #[error("cannot lay out an ext4 of {size_bytes} bytes")]
    Layout {
        /// The requested size, in bytes.
        size_bytes: u64,
        /// The error of the ext4 writer.
        #[source]
        source: ext4_writer::WriteError,
    },
    /// A volume with this name exists.
    #[error("there is a volume {name} already")]
    Exists {
        /// The name that was asked for.
        name: VolumeName,
    },
    /// A volume with this name does not exist.
    #[error("no such volume: {name}")]
    Missing {
        /// The name that was asked for.
        name: VolumeName,
    },
    /// A sandbox mounts the volume, and would not start without it.
    #[error("volume {name} belongs to {}: remove that first", .sandboxes.join(", "))]
    Needed {
        /// The volume's name.
        name: VolumeName,
        /// The names of the sandboxes that mount the volume.
        sandboxes: Vec<String>,
    },
    /// A machine uses the volume's disk.
    #[error("volume {name} is in use by sandbox {sandbox}, {conflict}")]
    InUse {
        /// The volume's name.
        name: VolumeName,
        /// The sandbox's name, or a phrase if it is not known.
        sandbox: String,
        /// The conflict between the two uses.
        conflict: VolumeConflict,
    },
}

/// The conflict between a current and a wanted use of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeConflict {
    /// Both uses write.
    TwoWriters,
    /// The current use writes, and the wanted one reads.
    WriterBeforeReader,
    /// The current use reads, and the wanted one writes.
    ReaderBeforeWriter,
    /// The wanted use is a removal.
    Removal,
}

impl fmt::Display for VolumeConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoWriters => "and only one at a time can write to it",
            Self::WriterBeforeReader => {
                "which may write to it: others can read it only while nobody can write to it"
            }
            Self::ReaderBeforeWriter => {
                "which reads it: it can be written to only while no other sandbox has it"
            }
            Self::Removal => "and cannot be removed meanwhile",
        })
    }
}
