use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
use msb_runtime::NoOverlay;
use msb_sandbox_snapshots::SnapshotError;
use tree_diff::InvalidScope;

use crate::{ApplyError, DiffError, DisksError};

/// A reason why changes of a sandbox cannot be taken back. The sandbox is unchanged then.
#[derive(Debug, thiserror::Error)]
pub enum DiscardError {
    /// The sandbox has no overlay, in which files could be taken back.
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
    /// Another process reads the disks of the stopped sandbox.
    #[error("cannot discard changes of sandbox {name}: another process reads its files")]
    InUse {
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
    /// An apply to a staged directory is being made, or was killed and cannot be finished.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The changes cannot be found.
    #[error("cannot find the changes of sandbox {name}")]
    Diff {
        /// Name of the sandbox.
        name: String,
        /// The error of the comparison.
        #[source]
        source: DiffError,
    },
    /// The sandbox may have begun with a file that its image does not have, and there is no copy to take it
    /// back to.
    #[error(
        "cannot discard the changes of '{}': the image of sandbox {name} does not have it, and the \
         sandbox's initial files are not on this host",
        .path.escape_ascii()
    )]
    NotKept {
        /// Name of the sandbox.
        name: String,
        /// The path of the file.
        path: Vec<u8>,
    },
    /// The directory that a path is in was deleted or replaced, and that change is to stay.
    #[error(
        "cannot discard a change below '{}': the sandbox deleted or replaced that directory",
        .path.escape_ascii()
    )]
    NoDirectory {
        /// The path of the directory.
        path: Vec<u8>,
    },
    /// The changes that are to stay do not fit on the disk any more: files of the image whose
    /// directory was renamed are copied to it.
    #[error("the other changes do not fit on the writable disk of {size_bytes} bytes")]
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
    /// The disk cannot get the new content.
    #[error("cannot replace the writable disk of sandbox {name}")]
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

impl Diagnose for DiscardError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoOverlay(source) => source.diagnosis(),
            Self::Running { name } => Diagnosis::new(ErrorKind::SandboxRunning)
                .detail("name", name)
                .hint(Hint::stop_keeping_files(name)),
            Self::InUse { name } => Diagnosis::new(ErrorKind::Busy)
                .detail("name", name)
                .hint("try again once that process has ended"),
            Self::Disks { source, .. } => source.diagnosis(),
            Self::Apply(source) => source.diagnosis(),
            Self::Scope(_) => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::Diff { source, .. } => source.diagnosis(),
            Self::NotKept { path, .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("path", path)
                .hint("name a snapshot or an image that has the wanted files with --base"),
            Self::NoDirectory { path } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("path", path)
                .hint(format!(
                    "discard {} as a whole",
                    String::from_utf8_lossy(path)
                )),
            Self::Full { name, .. } => {
                Diagnosis::new(ErrorKind::OutOfSpace).hint(Hint::enlarge_disk(name))
            }
            Self::Layout { source, .. } => Diagnosis::of_foreign(source),
            Self::Generations { source, .. } => source.diagnosis(),
            Self::Write { source, .. } => source.diagnosis(),
        }
    }
}
