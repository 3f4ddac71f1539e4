use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
use msb_agent_protocol::ClientError;
use msb_runtime::{ConnectError, NoOverlay};
use msb_sandbox_snapshots::SnapshotError;

/// A reason why the disk of a sandbox cannot be read at rest.
#[derive(Debug, thiserror::Error)]
pub enum AtRestError {
    /// The sandbox is running, and its disk may not be frozen.
    #[error("sandbox {name} is running, and its disk may change at any moment")]
    Running {
        /// Name of the sandbox.
        name: String,
    },
    /// The root of the sandbox is a disk image, whose files only its guest reads.
    #[error(transparent)]
    NoOverlay(#[from] NoOverlay),
    /// The disk of the running sandbox is one of generations, and cannot be cut.
    #[error("cannot read the writable disk of sandbox {name} at one moment")]
    Cut {
        /// Name of the sandbox.
        name: String,
        /// The error of the cut.
        #[source]
        source: SnapshotError,
    },
    /// The guest did not freeze the disk, so what it has not written yet would be missing.
    #[error("the guest of sandbox {name} did not freeze its writable disk")]
    NotFrozen {
        /// Name of the sandbox.
        name: String,
    },
    /// The lock of the sandbox cannot be opened.
    #[error("cannot lock sandbox {name}")]
    Lock {
        /// Name of the sandbox.
        name: String,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// The running sandbox cannot be reached.
    #[error("cannot freeze the writable disk of sandbox {name}")]
    Connect {
        /// Name of the sandbox.
        name: String,
        /// The error of the connection.
        #[source]
        source: ConnectError,
    },
    /// The guest's agent cannot freeze the disk, or is too old for it.
    #[error("cannot freeze the writable disk of sandbox {name}")]
    Agent {
        /// Name of the sandbox.
        name: String,
        /// The error of the call.
        #[source]
        source: ClientError,
    },
    /// The guest's agent does not answer.
    #[error(
        "cannot freeze the writable disk of sandbox {name}: its guest has not answered for {limit_s} s"
    )]
    Silent {
        /// Name of the sandbox.
        name: String,
        /// Time that was waited, in seconds.
        limit_s: u64,
    },
    /// The copy took longer than the guest keeps its disk frozen.
    #[error(
        "cannot copy the writable disk of sandbox {name} in {limit_s} s, the longest time that it is \
         frozen"
    )]
    Slow {
        /// Name of the sandbox.
        name: String,
        /// The limit, in seconds.
        limit_s: u64,
    },
    /// The disk was written to while it was copied.
    #[error("the guest of sandbox {name} wrote to its disk again before the disk was copied")]
    Thawed {
        /// Name of the sandbox.
        name: String,
    },
    /// The host has no room for the copy.
    #[error(
        "cannot copy the writable disk of sandbox {name}: {needed_bytes} bytes are needed, and \
         {free_bytes} bytes are free"
    )]
    Full {
        /// Name of the sandbox.
        name: String,
        /// Room that is needed, in bytes.
        needed_bytes: u64,
        /// Room that is left, in bytes.
        free_bytes: u64,
    },
    /// A file of the host cannot be read or written.
    #[error("cannot copy the writable disk of sandbox {name}")]
    Copy {
        /// Name of the sandbox.
        name: String,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for AtRestError {
    fn diagnosis(&self) -> Diagnosis {
        let stop = |kind, name| {
            let diagnosis = Diagnosis::new(kind).detail("name", name);
            diagnosis.hint(Hint::stop_keeping_files(name))
        };
        match self {
            Self::Running { name } => stop(ErrorKind::SandboxRunning, name),
            Self::NoOverlay(source) => {
                let (name, hint) = match source {
                    NoOverlay::Native { name } => (
                        name,
                        "take a snapshot to keep its files, and read them with msb cp and msb fs",
                    ),
                    NoOverlay::DiskImage { name, .. } => {
                        (name, "copy files out of it with msb cp while it runs")
                    }
                };
                source.diagnosis().detail("name", name).hint(hint)
            }
            Self::NotFrozen { name }
            | Self::Silent { name, .. }
            | Self::Slow { name, .. }
            | Self::Thawed { name } => stop(ErrorKind::Busy, name),
            Self::Full { name, .. } => stop(ErrorKind::OutOfSpace, name),
            Self::Cut { source, .. } => source.diagnosis(),
            Self::Connect { source, .. } => source.diagnosis(),
            Self::Agent { source, .. } => source.diagnosis(),
            Self::Lock { source, .. } | Self::Copy { source, .. } => source.diagnosis(),
        }
    }
}
