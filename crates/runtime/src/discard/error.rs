use tree_diff::InvalidScope;

use crate::{DisksError, NoOverlay, SnapshotError};

/// A reason why changes of a sandbox cannot be taken back. The sandbox is unchanged then.
#[derive(Debug, thiserror::Error)]
pub enum DiscardError {
    /// The sandbox has no image that it could be as again.
    #[error(transparent)]
    NoOverlay(#[from] NoOverlay),
    /// The sandbox is running, and its guest uses the disk that would be replaced.
    #[error(
        "cannot discard changes of sandbox {name} while it is running: its guest uses the disk that \
         would be replaced"
    )]
    Running {
        /// Name of the sandbox.
        name: String,
    },
    /// The disks of the sandbox cannot be read.
    #[error("cannot read the disks of sandbox {name}")]
    Disks {
        /// Name of the sandbox.
        name: String,
        /// The disk's error, or the store's.
        #[source]
        source: DisksError,
    },
    /// A path has a component `..`.
    #[error("cannot discard changes below a path")]
    Scope(#[from] InvalidScope),
    /// The directory that a path is in was deleted or replaced, and that change is to stay.
    #[error(
        "cannot take back a change below '{}': the sandbox deleted that directory or replaced it",
        .path.escape_ascii()
    )]
    NoDirectory {
        /// The path of the directory.
        path: Vec<u8>,
    },
    /// The changes that are to stay do not fit on the disk any more: files of the image whose
    /// directory was renamed are copied to it.
    #[error("the changes that stay do not fit on the writable disk of {size_bytes} bytes")]
    Full {
        /// Name of the sandbox.
        name: String,
        /// Size of the disk, in bytes.
        size_bytes: u64,
    },
    /// The new disk cannot be laid out.
    #[error("cannot create a new writable disk for sandbox {name}")]
    Layout {
        /// Name of the sandbox.
        name: String,
        /// The error of the ext4 writer.
        #[source]
        source: ext4_writer::WriteError,
    },
    /// The disk is one of generations, and cannot get the new content.
    #[error("cannot replace the writable disk of sandbox {name}, which has snapshots")]
    Generations {
        /// Name of the sandbox.
        name: String,
        /// The error of the disk.
        #[source]
        source: SnapshotError,
    },
    /// A file of the host cannot be read or written.
    #[error("cannot replace the writable disk of sandbox {name}")]
    Write {
        /// Name of the sandbox.
        name: String,
        /// The error of the host.
        #[source]
        source: std::io::Error,
    },
}
