use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_runtime::CreateError;

use crate::{ApplyError, DiffError, DiscardError, DisksError};

/// Staged directories cannot be staged anew.
#[derive(Debug, thiserror::Error)]
pub enum RestageError {
    /// The sandbox runs.
    #[error(
        "sandbox {name} is running, and its directories are staged anew only while it is stopped"
    )]
    Running {
        /// The name of the sandbox.
        name: String,
    },
    /// The sandbox has no staged directory.
    #[error("sandbox {name} has no staged directory")]
    NothingStaged {
        /// The name of the sandbox.
        name: String,
    },
    /// Both sides changed paths in different ways.
    #[error(
        "the host and sandbox {name} both changed '{}'{}",
        .path.escape_ascii(),
        others(*count)
    )]
    Conflicts {
        /// The name of the sandbox.
        name: String,
        /// The first path, in the sandbox.
        path: Vec<u8>,
        /// The number of paths, at most 1,000.
        count: usize,
        /// All of these paths.
        paths: Vec<Vec<u8>>,
    },
    /// The disks cannot be read.
    #[error("cannot read the disks of sandbox {name}")]
    Disks {
        /// The name of the sandbox.
        name: String,
        /// The reason of the failure.
        #[source]
        source: DisksError,
    },
    /// The files cannot be compared.
    #[error("cannot compare the files of sandbox {name}")]
    Diff {
        /// The name of the sandbox.
        name: String,
        /// The reason of the failure.
        #[source]
        source: DiffError,
    },
    /// A directory of the host cannot be staged.
    #[error("cannot stage the directories of sandbox {name}")]
    Stage {
        /// The name of the sandbox.
        name: String,
        /// The reason of the failure.
        #[source]
        source: Box<CreateError>,
    },
    /// An apply to one of the directories is being made, or was killed and cannot be finished.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The new writable disk cannot be made.
    #[error(transparent)]
    Disk(#[from] DiscardError),
    /// A file of the sandbox cannot be written.
    #[error("cannot write the files of sandbox {name}")]
    Write {
        /// The name of the sandbox.
        name: String,
        /// The reason of the failure.
        #[source]
        source: io::Error,
    },
}

fn others(count: usize) -> String {
    match count {
        1 => String::new(),
        count => format!(", and {} other paths", count - 1),
    }
}

impl Diagnose for RestageError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Running { name } => Diagnosis::new(ErrorKind::SandboxRunning)
                .detail("name", name)
                .hint(format!("stop it with msb stop {name}")),
            Self::NothingStaged { name } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("name", name)
                .hint("directories are staged when a sandbox is created: -v DIR:PATH:staged"),
            Self::Conflicts { .. } => Diagnosis::new(ErrorKind::PathExists)
                .hint("take one of the two changes back: msb discard does that in the sandbox"),
            Self::Disks { source, .. } => source.diagnosis(),
            Self::Diff { source, .. } => source.diagnosis(),
            Self::Stage { source, .. } => source.diagnosis(),
            Self::Apply(source) => source.diagnosis(),
            Self::Disk(source) => source.diagnosis(),
            Self::Write { source, .. } => source.diagnosis(),
        }
    }
}
