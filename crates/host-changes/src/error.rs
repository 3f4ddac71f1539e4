use std::io;
use std::path::{Path, PathBuf};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rustix::io::Errno;

use super::{ApplyRecordError, ConflictReason, Effect};

/// A file of the host that was changed while a new one took its place, and is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Path at which an earlier edit is kept that could not be put back; `None` if every edit was put back.
    pub kept: Option<PathBuf>,
}

/// A reason why changes are not put into a directory of the host.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The directory cannot be opened.
    #[error("cannot open the directory {}", .path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// Another process puts changes into the directory.
    #[error("another msb apply is writing to {}", .path.display())]
    Busy {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The sandbox has no directory for the host's directory to stand for.
    #[error("the sandbox has no directory '{}'", .path.escape_ascii())]
    NoOrigin {
        /// The path in the sandbox.
        path: Vec<u8>,
    },
    /// A chosen path is not below the directory that the host's directory stands for.
    #[error("'{}' is not below '{}'", .path.escape_ascii(), .from.escape_ascii())]
    Outside {
        /// The chosen path in the sandbox.
        path: Vec<u8>,
        /// The directory in the sandbox.
        from: Vec<u8>,
    },
    /// Files of the host are in the way. Nothing was written.
    #[error("{}", conflicts(.path, .reason, *.count))]
    Conflicts {
        /// Path of the first file.
        path: PathBuf,
        /// The reason for the first file.
        reason: ConflictReason,
        /// Number of all such files.
        count: usize,
    },
    /// Changes make programs of the host run commands, or a rule asks about them, and they were not accepted.
    /// Nothing was written.
    #[error("{}", unaccepted(.path, .effect, *.count))]
    Unaccepted {
        /// Path of the first file, in the sandbox.
        path: Vec<u8>,
        /// The effect of the first file.
        effect: Effect,
        /// Number of all such files.
        count: usize,
    },
    /// The changes need more room than the directory's filesystem has. Nothing was written.
    #[error("cannot apply {needed_bytes} bytes to {}: {free_bytes} bytes are free", .path.display())]
    Full {
        /// Path of the directory.
        path: PathBuf,
        /// Room that the new files need, in bytes.
        needed_bytes: u64,
        /// Room that is left, in bytes.
        free_bytes: u64,
    },
    /// The edits that were chosen of a text are not those that it has.
    #[error("the chosen edits are not those of {}", .path.display())]
    Choice {
        /// Path of the file.
        path: PathBuf,
    },
    /// The texts of which a part was chosen are too large together.
    #[error("the files of which a part was chosen have more than {} MiB together", .limit_bytes >> 20)]
    TooMuchText {
        /// The limit, in bytes.
        limit_bytes: usize,
    },
    /// A file of the host changed while the changes were applied.
    #[error("{} changed meanwhile", .path.display())]
    Changed {
        /// Path of the file.
        path: PathBuf,
    },
    /// Files of the host changed while new ones took their places. They are left, and all other changes were made.
    #[error("{}", left(.files))]
    Left {
        /// The files, at least one.
        files: Vec<LeftFile>,
    },
    /// The disk failed while new files took their places, or did so when an apply that was killed was to be finished.
    /// The next command that uses the directory does the rest.
    #[error("cannot finish the msb apply to {}", .directory.display())]
    Unfinished {
        /// Path of the directory.
        directory: PathBuf,
        /// Path of the record, which is kept.
        record: PathBuf,
        /// The reason of the failure.
        #[source]
        source: ApplyRecordError,
    },
    /// A file of the sandbox cannot be read.
    #[error("cannot read '{}' of the sandbox", .path.escape_ascii())]
    Read {
        /// Path of the file, relative to the directory.
        path: Vec<u8>,
        /// The error of its disk.
        #[source]
        source: io::Error,
    },
    /// A file of the host cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    Host {
        /// The attempted action, a verb such as "open".
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
}

impl ApplyError {
    /// Returns true if the disk of the directory is full or has failed: the same step may succeed later. An error that
    /// stays, such as a missing permission, is met by the next apply again, which can leave the file out.
    pub(super) fn is_of_the_disk(&self) -> bool {
        let (Self::Directory { source, .. } | Self::Host { source, .. }) = self else {
            return false;
        };
        let of_the_disk = [
            Errno::IO,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::ROFS,
            Errno::NOMEM,
            Errno::MFILE,
            Errno::NFILE,
            Errno::STALE,
        ];
        let of_the_disk_by_kind = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::QuotaExceeded,
            io::ErrorKind::ReadOnlyFilesystem,
        ];
        Errno::from_io_error(source).is_some_and(|found| of_the_disk.contains(&found))
            || of_the_disk_by_kind.contains(&source.kind())
    }
}

impl Diagnose for ApplyError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Directory { path, source } if source.kind() == io::ErrorKind::NotFound => {
                Diagnosis::new(ErrorKind::PathNotFound)
                    .detail("path", path)
                    .hint(format!("create it with mkdir {}", path.display()))
            }
            Self::NoOrigin { path } | Self::Outside { path, .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument).detail("path", path)
            }
            Self::Busy { .. } => Diagnosis::new(ErrorKind::Busy),
            Self::Choice { path } => {
                Diagnosis::new(ErrorKind::InvalidArgument).detail("path", path)
            }
            Self::TooMuchText { .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint("choose whole files, or fewer files at once"),
            Self::Conflicts { .. } => Diagnosis::new(ErrorKind::PathExists).hint(
                "leave these files out with --exclude, or overwrite single ones with msb cp; if this \
                 directory is as the sandbox was at another time, name that snapshot or sandbox with \
                 --base",
            ),
            Self::Unaccepted { path, count: 1, .. } => {
                let path = String::from_utf8_lossy(path);
                Diagnosis::new(ErrorKind::PermissionDenied)
                    .detail("path", &*path)
                    .hint(format!(
                        "read it; then accept it with --accept {path}, or leave it out with --exclude"
                    ))
            }
            Self::Unaccepted { path, .. } => Diagnosis::new(ErrorKind::PermissionDenied)
                .detail("path", path)
                .hint("read them; then accept each with --accept PATH, or leave it out with --exclude"),
            Self::Full { .. } => Diagnosis::new(ErrorKind::OutOfSpace),
            Self::Changed { .. } => Diagnosis::new(ErrorKind::Busy)
                .hint("apply again: completed changes are skipped"),
            Self::Left { files } => {
                let path = files.first().map(|file| file.path.as_path());
                Diagnosis::new(ErrorKind::Busy)
                    .detail("path", path.unwrap_or(Path::new("")))
                    .hint("apply again: completed changes are skipped")
            }
            Self::Unfinished { directory, record, source } => {
                let diagnosis = match source {
                    ApplyRecordError::Host(source) => source.diagnosis(),
                    ApplyRecordError::Read(source) => source.diagnosis(),
                    _ => Diagnosis::new(ErrorKind::InternalError),
                };
                diagnosis
                    .detail("path", directory)
                    .hint(format!(
                        "remove the cause and apply again, which does the rest; if that cannot be, remove {} first",
                        record.display()
                    ))
            }
            Self::Directory { source, .. } | Self::Read { source, .. } | Self::Host { source, .. } => {
                source.diagnosis()
            }
        }
    }
}

fn conflicts(path: &Path, reason: &ConflictReason, count: usize) -> String {
    if count == 1 {
        format!("cannot change {}: {reason}", path.display())
    } else {
        format!("cannot apply the changes: {count} files are in the way")
    }
}

fn left(files: &[LeftFile]) -> String {
    let Some(first) = files.first() else {
        return "files changed while the changes were applied, and are left".to_owned();
    };
    let path = first.path.display();
    let kept = first.kept.as_ref();
    let kept = kept.map(|kept| format!("; an earlier edit of it is {}", kept.display()));
    let kept = kept.unwrap_or_default();
    match files.len() {
        1 => format!("{path} changed while the changes were applied, and is left{kept}"),
        count => format!(
            "{count} files changed while the changes were applied, and are left, such as {path}{kept}"
        ),
    }
}

fn unaccepted(path: &[u8], effect: &Effect, count: usize) -> String {
    if count == 1 {
        format!("'{}' is not accepted: {effect}", path.escape_ascii())
    } else {
        format!(
            "cannot apply the changes: {count} of them are not accepted, such as '{}': {effect}",
            path.escape_ascii()
        )
    }
}
