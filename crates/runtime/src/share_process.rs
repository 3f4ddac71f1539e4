//! The processes that serve a machine's shared directories, where its VMM does not.
//!
//! Each is started by the machine's process before that gives up its own rights, in its process group:
//! a kill ends all. Otherwise it ends when the VMM hangs up.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use fs_err as fs;
use msb_jail::{Jail, JailError, Limits, renounce};
use msb_share::ShareError;
use msb_vmm::DiskAccess;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::sandbox::{Files, VmmCommand};
use crate::socket;
use crate::vmm_process::Errand;

/// Why a share's process ended.
#[derive(Debug, thiserror::Error)]
pub enum ShareProcessError {
    /// Its errand cannot be read, or its socket not be used.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The machine has no such share.
    #[error("the sandbox has no shared directory {index}")]
    Missing {
        /// Its number.
        index: usize,
    },
    /// It is not confined, so it serves nobody.
    #[error("cannot confine the process of a shared directory")]
    Jail(#[from] JailError),
    /// The directory cannot be served.
    #[error("cannot share the directory")]
    Share(#[from] ShareError),
}

/// Serves the machine's share number `index` of the sandbox in `directory`. Standard input is the socket
/// that the VMM calls.
///
/// # Errors
/// When the directory is gone, the process cannot be confined, or the VMM speaks otherwise than
/// expected.
pub fn serve_share(directory: &Path, index: usize) -> Result<(), ShareProcessError> {
    let io_error = |action| move |source| ShareProcessError::Io { action, source };
    let files = Files {
        directory: directory.to_owned(),
    };
    let errand = Errand::read(&files).map_err(io_error("read machine.json"))?;
    let share = errand.machine.shares.get(index);
    let share = share.ok_or(ShareProcessError::Missing { index })?;
    let listener = io::stdin().as_fd().try_clone_to_owned();
    let listener = UnixListener::from(listener.map_err(io_error("use standard input"))?);
    raise_open_files().map_err(io_error("raise the limit of open files"))?;
    let limits = Limits {
        open_files: None,
        file_bytes: None,
        data_bytes: None,
        any_owner: true,
    };
    renounce(&limits, errand.jail)?;
    let is_read_only = share.access == DiskAccess::ReadOnly;
    let served = msb_share::Share::open(&share.directory, is_read_only)?;
    let (access, calls) = share.left();
    Jail::new(calls)
        .with(served.path(), access)
        .put_on(errand.jail)?;
    Ok(served.serve(listener)?)
}

/// Each file that the guest's kernel remembers is an open one here.
fn raise_open_files() -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Starts the process of each of the machine's shares, and calls it for the VMM.
pub(crate) fn start(
    files: &Files,
    errand: &Errand,
    command: &VmmCommand,
) -> io::Result<Vec<OwnedFd>> {
    let shares = 0..errand.machine.shares.len();
    shares
        .map(|index| start_one(files, index, command))
        .collect()
}

fn start_one(files: &Files, index: usize, command: &VmmCommand) -> io::Result<OwnedFd> {
    let path = files.share_socket(index);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = socket::bind(&path)?;
    let called = socket::connect_now(&path);
    // The call waits until it is taken; nobody else is to call.
    fs::remove_file(&path)?;
    Command::new(&command.program)
        .args(&command.arguments)
        .arg(&files.directory)
        .arg(index.to_string())
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::null())
        .spawn()?;
    Ok(called?.into())
}
