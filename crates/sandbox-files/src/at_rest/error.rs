use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};
use msb_runtime::NoOverlay;
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
    /// The disk of the running sandbox cannot be cut.
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
            Self::NotFrozen { name } => stop(ErrorKind::Busy, name),
            Self::Cut { source, .. } => source.diagnosis(),
            Self::Lock { source, .. } => source.diagnosis(),
        }
    }
}
