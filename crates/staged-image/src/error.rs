use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis};

/// A directory of the host cannot be staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A file cannot be opened, examined or read.
    #[error("cannot {action} {}", path.display())]
    Host {
        /// The operation that failed, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The source is not a directory.
    #[error("{} is not a directory", path.display())]
    NotDirectory {
        /// The source.
        path: PathBuf,
    },
    /// A file changed each time that it was read.
    #[error("{} changed while it was read, {tries} times", path.display())]
    Changing {
        /// The file.
        path: PathBuf,
        /// The number of times that it was read.
        tries: u32,
    },
    /// There are too many files.
    #[error("{} has more than {limit} files", directory.display())]
    TooMany {
        /// The source.
        directory: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// Directories lie too deep in each other.
    #[error("{} is more than {limit} directories deep", path.display())]
    TooDeep {
        /// The directory.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// The image cannot be written.
    #[error("cannot write the image of the staged directories")]
    Image(#[source] erofs_writer::WriteError),
}

impl Diagnose for StageError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Host { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => source
                .diagnosis()
                .hint("make it readable, or keep it out of the sandbox with --rule PATH=hide"),
            Self::Host { source, .. } => source.diagnosis(),
            Self::NotDirectory { .. } => Diagnosis::default()
                .hint("stage the directory that the file is in, or share the file without :staged"),
            Self::Changing { .. } => Diagnosis::default().hint(
                "wait until the program that writes it is done, or keep it out of the sandbox with \
                 --rule PATH=hide",
            ),
            Self::TooMany { .. } | Self::TooDeep { .. } => Diagnosis::default().hint(
                "keep large directories such as target or node_modules out of the sandbox with \
                 --rule PATH=hide",
            ),
            Self::Image(erofs_writer::WriteError::Io { source, .. }) => source.diagnosis(),
            Self::Image(source) => Diagnosis::of_foreign(source),
        }
    }
}
