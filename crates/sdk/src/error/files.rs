//! Errors of a sandbox's files.

use std::error::Error as StdError;
use std::io;

use msb_runtime::{ConnectError, CopyError, FilesError};

use super::ErrorKind;
use super::command::of_client;
use super::hint::Hint;
use super::meaning::Meaning;

pub(super) fn meaning(cause: &(dyn StdError + 'static)) -> Option<Meaning> {
    if let Some(error) = cause.downcast_ref::<FilesError>() {
        return of_files(error);
    }
    if let Some(error) = cause.downcast_ref::<CopyError>() {
        return of_copy(error);
    }
    // A side's error is boxed, and the box is what appears among the causes.
    if let Some(error) = cause.downcast_ref::<Box<CopyError>>() {
        return of_copy(error);
    }
    None
}

fn of_files(error: &FilesError) -> Option<Meaning> {
    Some(match error {
        // Transparent errors do not appear among the causes.
        FilesError::Guest(error) => return of_client(error),
        FilesError::Reach(ConnectError::NotRunning { name } | ConnectError::Starting { name })
        | FilesError::Mounted { name, .. }
        | FilesError::MountBelow { name, .. } => {
            Meaning::new(ErrorKind::NotRunning).detail("name", name.as_str())
        }
        FilesError::Stopped { name } => Meaning::new(ErrorKind::NotRunning)
            .detail("name", name.as_str())
            .hint(Some(Hint::start(name))),
        FilesError::Snapshot { name } => {
            Meaning::new(ErrorKind::InvalidArgument).detail("name", name.as_str())
        }
        FilesError::LongPath(_) | FilesError::TooManyNames { .. } => {
            Meaning::new(ErrorKind::InvalidArgument)
        }
        FilesError::Path { path, source, .. } => of_path(source).detail("path", path.to_string()),
        FilesError::Reach(_)
        | FilesError::Disks { .. }
        | FilesError::Answer { .. }
        | FilesError::BrokenOff => return None,
    })
}

fn of_copy(error: &CopyError) -> Option<Meaning> {
    Some(match error {
        CopyError::Files(error) => return of_files(error),
        CopyError::Host { path, source, .. } => {
            of_path(source).detail("path", path.display().to_string())
        }
        CopyError::NoDirectory { path } => {
            Meaning::new(ErrorKind::PathNotFound).detail("path", path.to_string())
        }
        CopyError::DirectoryOntoFile { path }
        | CopyError::NotDirectory { path }
        | CopyError::Loop { path } => {
            Meaning::new(ErrorKind::InvalidArgument).detail("path", path.to_string())
        }
        CopyError::EmptyPath => Meaning::new(ErrorKind::InvalidArgument),
        CopyError::Unpack(_) => {
            let path = error.path_in_the_way()?.to_string();
            Meaning::new(ErrorKind::PathExists).detail("path", path)
        }
        CopyError::On { .. } | CopyError::Pack(_) => return None,
    })
}

/// Returns the meaning of an error of the host's kernel that concerns a named path.
fn of_path(source: &io::Error) -> Meaning {
    Meaning::new(match source.kind() {
        io::ErrorKind::NotFound => ErrorKind::PathNotFound,
        io::ErrorKind::AlreadyExists => ErrorKind::PathExists,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ErrorKind::PermissionDenied
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::OutOfSpace,
        _ => ErrorKind::InvalidArgument,
    })
}
