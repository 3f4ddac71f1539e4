use std::path::PathBuf;
use std::{fmt, io};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};

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
    #[error("cannot create an ext4 filesystem of {size_bytes} bytes")]
    Layout {
        /// The requested size, in bytes.
        size_bytes: u64,
        /// The error of the ext4 writer.
        #[source]
        source: ext4_writer::WriteError,
    },
    /// A volume with this name exists.
    #[error("volume {name} already exists")]
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
    #[error("cannot remove volume {name}: first remove the sandboxes that use it: {}", .sandboxes.join(", "))]
    Needed {
        /// The volume's name.
        name: VolumeName,
        /// The names of the sandboxes that mount the volume.
        sandboxes: Vec<String>,
    },
    /// A machine uses the volume's disk.
    #[error("volume {name} is in use by {}: {conflict}", user(.sandbox.as_deref()))]
    InUse {
        /// The volume's name.
        name: VolumeName,
        /// The name of the sandbox that uses it; `None` if that sandbox is shutting down or being
        /// removed.
        sandbox: Option<String>,
        /// The conflict between the two uses.
        conflict: VolumeConflict,
    },
}

impl Diagnose for VolumeError {
    fn diagnosis(&self) -> Diagnosis {
        let of = |kind, name: &VolumeName| Diagnosis::new(kind).detail("name", name.as_str());
        match self {
            Self::Io { source, .. } => source.diagnosis(),
            Self::Layout { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::Exists { name } => of(ErrorKind::NameTaken, name),
            Self::Missing { name } => of(ErrorKind::VolumeNotFound, name),
            Self::Needed { name, .. } | Self::InUse { name, .. } => {
                of(ErrorKind::VolumeInUse, name)
            }
        }
    }
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
            Self::TwoWriters => "only one sandbox at a time can write to it",
            Self::WriterBeforeReader => {
                "that sandbox can write to it, and no other sandbox can mount it meanwhile"
            }
            Self::ReaderBeforeWriter => {
                "that sandbox reads it, and no other sandbox can write to it meanwhile"
            }
            Self::Removal => "it cannot be removed meanwhile",
        })
    }
}

/// Returns a phrase for the sandbox that uses a volume.
fn user(sandbox: Option<&str>) -> String {
    match sandbox {
        Some(name) => format!("sandbox {name}"),
        None => "a sandbox that is shutting down".to_owned(),
    }
}
