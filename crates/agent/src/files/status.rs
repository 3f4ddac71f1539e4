use std::error::Error;
use std::io;

use msb_agent_protocol::{Code, Status};
use rustix::io::Errno;
use tree_archive::{PackError, UnpackError};

use crate::console::chain;

/// Returns a conversion of errors into a status that names the action and the path.
pub(super) fn failed(action: &str, path: &[u8]) -> impl Fn(Errno) -> Status {
    let what = format!("cannot {action} '{}'", path.escape_ascii());
    move |error| {
        let error = io::Error::from(error);
        Status::new(code(&error), format!("{what}: {error}"))
    }
}

/// Returns the conversion of [`failed`] for errors of the standard library.
pub(crate) fn failed_io(action: &str, path: &[u8]) -> impl Fn(io::Error) -> Status {
    let failed = failed(action, path);
    move |error| failed(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

pub(super) fn not_packed(error: &PackError) -> Status {
    let code = error.io().map_or(Code::InvalidArgument, code);
    Status::new(code, describe(error))
}

pub(super) fn not_unpacked(error: &UnpackError) -> Status {
    let code = match (error, error.io()) {
        (UnpackError::OverDirectory { .. } | UnpackError::OverFile { .. }, _) => {
            Code::FailedPrecondition
        }
        (UnpackError::File { .. }, Some(error)) => code(error),
        _ => Code::InvalidArgument,
    };
    Status::new(code, describe(error))
}

fn describe(error: &dyn Error) -> String {
    chain(error)
}

fn code(error: &io::Error) -> Code {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NXIO) => Code::NotFound,
        Some(Errno::EXIST) => Code::AlreadyExists,
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Code::PermissionDenied,
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::MFILE | Errno::NOMEM) => {
            Code::ResourceExhausted
        }
        Some(
            Errno::NOTDIR
            | Errno::ISDIR
            | Errno::NOTEMPTY
            | Errno::LOOP
            | Errno::BUSY
            | Errno::XDEV,
        ) => Code::FailedPrecondition,
        Some(Errno::NAMETOOLONG | Errno::INVAL) => Code::InvalidArgument,
        _ => Code::Aborted,
    }
}
