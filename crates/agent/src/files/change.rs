use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::{
    MakeDirectoryReply, MakeDirectoryRequest, RemoveReply, RemoveRequest, RenameReply,
    RenameRequest, SetModeReply, SetModeRequest,
};
use rustix::io::Errno;

use super::absolute;
use super::status::failed;

/// The mode of a new directory if the request has none.
const DIRECTORY_MODE: u32 = 0o755;

pub(crate) fn remove(request: &RemoveRequest) -> Result<RemoveReply, Status> {
    let bytes = absolute(&request.path);
    let path = Path::new(OsStr::from_bytes(&bytes));
    if path.file_name().is_none() {
        let message = "the root, '.' and '..' are not removed";
        return Err(Status::invalid_argument(message));
    }
    let is_directory = || fs::symlink_metadata(path).map(|metadata| metadata.is_dir());
    let removed = match is_directory() {
        Ok(true) if request.recursive => fs::remove_dir_all(path),
        Ok(true) => Err(Errno::ISDIR.into()),
        Ok(false) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound && request.ignore_missing => {}
        other => other.map_err(errno).map_err(failed("remove", &bytes))?,
    }
    Ok(RemoveReply {})
}

pub(crate) fn make_directory(request: &MakeDirectoryRequest) -> Result<MakeDirectoryReply, Status> {
    let bytes = absolute(&request.path);
    let path = Path::new(OsStr::from_bytes(&bytes));
    let made = || {
        if request.parents && path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent().filter(|_| request.parents) {
            make_directories(parent)?;
        }
        fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path)?;
        // The agent's umask does not apply.
        let mode = request.mode.unwrap_or(DIRECTORY_MODE) & 0o7777;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    };
    made()
        .map_err(errno)
        .map_err(failed("create the directory", &bytes))?;
    Ok(MakeDirectoryReply {})
}

/// Creates a directory and its parents, if they are missing.
pub(crate) fn make_directories(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.mode(DIRECTORY_MODE).recursive(true).create(path)
}

/// Renames a file, and moves it into the target if that is a directory, as `mv` does.
pub(crate) fn rename(request: &RenameRequest) -> Result<RenameReply, Status> {
    let (from, to) = (absolute(&request.from), absolute(&request.to));
    let source = Path::new(OsStr::from_bytes(&from));
    let mut target = Path::new(OsStr::from_bytes(&to)).to_owned();
    let Some(name) = source.file_name() else {
        let message = "the root, '.' and '..' are not renamed";
        return Err(Status::invalid_argument(message));
    };
    if target.is_dir() {
        target.push(name);
    }
    fs::rename(source, &target).map_err(|error| match errno(error) {
        Errno::XDEV => Status::failed_precondition(format!(
            "'{}' and '{}' are on different filesystems; copy the file, then remove it",
            from.escape_ascii(),
            target.as_os_str().as_bytes().escape_ascii()
        )),
        error => failed("rename", &from)(error),
    })?;
    Ok(RenameReply {})
}

/// Sets a file's permission bits.
pub(crate) fn set_mode(request: &SetModeRequest) -> Result<SetModeReply, Status> {
    let path = absolute(&request.path);
    let mode = fs::Permissions::from_mode(request.mode & 0o7777);
    fs::set_permissions(OsStr::from_bytes(&path), mode)
        .map_err(errno)
        .map_err(failed("set the mode of", &path))?;
    Ok(SetModeReply {})
}

pub(super) fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
