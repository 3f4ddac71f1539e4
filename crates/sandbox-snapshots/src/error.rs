use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
use generations::{CutError, Fault, FlushError, MergeError, OpenError, VerifyError};
use msb_agent_protocol::ClientError;
use msb_runtime::{AdoptError, ConnectError, NoOverlay};

use super::SnapshotName;

/// A failure of an operation on snapshots. The sandbox's disk and its other snapshots are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The sandbox has no image, and its files are read by its guest alone.
    #[error(transparent)]
    NoOverlay(#[from] NoOverlay),
    /// The sandbox is running, and writes to its disk.
    #[error("sandbox {name} is running; that can be done once it has stopped")]
    Running {
        /// Name of the sandbox.
        name: String,
    },
    /// The process of the running sandbox cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The process of the running sandbox does not cut its disk.
    #[error("cannot take a snapshot of the running sandbox {name}")]
    Live {
        /// Name of the sandbox.
        name: String,
        /// The error of the call.
        #[source]
        source: ClientError,
    },
    /// The process of the running sandbox does not use merged generations.
    #[error("cannot merge generations of the running sandbox {name}")]
    MergeLive {
        /// Name of the sandbox.
        name: String,
        /// The error of the call.
        #[source]
        source: ClientError,
    },
    /// The process of the running sandbox sent something else than the state of a disk.
    #[error("the process of sandbox {name} did not send the state of its disk: {fault}")]
    NoState {
        /// Name of the sandbox.
        name: String,
        /// The fault of what it sent.
        fault: Fault,
    },
    /// The sandbox has a snapshot of this name.
    #[error("sandbox {sandbox} has a snapshot {name}")]
    Exists {
        /// Name of the sandbox.
        sandbox: String,
        /// Name of the snapshot.
        name: SnapshotName,
    },
    /// The sandbox has no such snapshot.
    #[error("sandbox {sandbox} has no snapshot {name}")]
    Missing {
        /// Name of the sandbox.
        sandbox: String,
        /// Name of the snapshot.
        name: String,
    },
    /// The sandbox has no snapshot.
    #[error("sandbox {sandbox} has no snapshots")]
    Empty {
        /// Name of the sandbox.
        sandbox: String,
    },
    /// The record of a snapshot is not what was written.
    #[error("the record {} is damaged: {reason}", .path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// The fault of the record, as a clause.
        reason: String,
    },
    /// The disk has too many generations, of which each snapshot that follows a change adds one.
    #[error("the writable disk has {count} generations, and the limit is {limit}")]
    TooMany {
        /// The number of generations.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The sandbox has no disk of generations.
    #[error("the files of the writable disk are missing")]
    NoDisk,
    /// A generation of the disk is damaged, or cannot be read.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Generations cannot be merged.
    #[error("cannot merge generations of the writable disk")]
    Merge(#[from] MergeError),
    /// The files of the disk cannot be made or found.
    #[error("cannot make the files of the writable disk")]
    Adopt(#[from] AdoptError),
    /// The disk cannot be opened.
    #[error("cannot open the writable disk")]
    Open(#[from] OpenError),
    /// The disk cannot be cut.
    #[error("cannot take the state of the writable disk")]
    Cut(#[from] CutError),
    /// The disk cannot be flushed.
    #[error("cannot flush the writable disk")]
    Flush(#[from] FlushError),
    /// A generation cannot be given to another pool.
    #[error("cannot rename a generation of the writable disk")]
    Share(#[from] generations::StorageError),
    /// The disk cannot be set to another state.
    #[error("cannot switch the writable disk to another state")]
    RollBack(#[from] generations::CreateError),
    /// A file of the sandbox cannot be read or written.
    #[error("cannot read or write the snapshots")]
    Io(#[from] io::Error),
}

impl Diagnose for SnapshotError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoOverlay(source) => source.diagnosis(),
            Self::Running { name } => Diagnosis::new(ErrorKind::SandboxRunning)
                .detail("name", name)
                .hint(Hint::stop_keeping_files(name)),
            Self::Connect(source) => source.diagnosis(),
            Self::Live { source, .. } | Self::MergeLive { source, .. } => source.diagnosis(),
            Self::Exists { name, .. } => {
                Diagnosis::new(ErrorKind::NameTaken).detail("name", name.as_str())
            }
            Self::Missing { sandbox, name } => Diagnosis::new(ErrorKind::NotFound)
                .detail("name", name)
                .hint(Hint::list_snapshots(sandbox)),
            Self::Empty { sandbox } => {
                Diagnosis::new(ErrorKind::NotFound).hint(Hint::take_snapshot(sandbox))
            }
            Self::TooMany { count, limit } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("count", *count)
                .detail("limit", *limit)
                .hint(Hint::remove_snapshots()),
            Self::NoState { .. } | Self::Damaged { .. } | Self::NoDisk => Diagnosis::default(),
            Self::Adopt(source) => source.diagnosis(),
            Self::Verify(source) => Diagnosis::of_foreign(source),
            Self::Merge(source) => Diagnosis::of_foreign(source),
            Self::Open(source) => Diagnosis::of_foreign(source),
            Self::Cut(source) => Diagnosis::of_foreign(source),
            Self::Flush(source) => Diagnosis::of_foreign(source),
            Self::Share(source) => Diagnosis::of_foreign(source),
            Self::RollBack(source) => Diagnosis::of_foreign(source),
            Self::Io(source) => source.diagnosis(),
        }
    }
}
