//! The processes that serve a machine's shares if its VMM does not.
//!
//! The VMM process starts each of them before it gives up its rights, in its process group: a kill
//! ends all. Otherwise a share process ends when the VMM closes the connection.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use fs_err as fs;
use msb_jail::{Jail, JailError, Limits, renounce};
use msb_runtime::{LaunchSpec, LaunchSpecError, SandboxPaths, VmmCommand, socket};
use msb_share::{Entry, Kind, Permissions, ShareError};
use msb_vmm::{DiskAccess, Share, ShareEntry, ShareKind, Shown};
use path_rules::TooManyRules;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::shared_rules::SharedRules;

/// The process of a share failed.
#[derive(Debug, thiserror::Error)]
pub enum ShareProcessError {
    /// The launch spec cannot be run.
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    /// The socket cannot be used.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, a verb and an object.
        action: &'static str,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The machine has no share with this number, or the VMM serves it.
    #[error("the sandbox has no shared directory {index}")]
    Missing {
        /// The number of the share, from 0.
        index: usize,
    },
    /// A directory of the share has more rules than can be.
    #[error(transparent)]
    Rules(#[from] TooManyRules),
    /// The process cannot be confined, so it serves no guest.
    #[error("cannot confine the process of a shared directory")]
    Jail(#[from] JailError),
    /// The shared files cannot be opened or served.
    #[error("cannot serve the shared directory")]
    Share(#[from] ShareError),
}

/// Serves share number `index` of the machine of the sandbox in `directory`.
/// Standard input is the socket that the VMM connects to.
///
/// # Errors
/// If a shared file does not exist any more, the process cannot be confined, or the VMM violates
/// the protocol.
pub fn serve_share(directory: &Path, index: usize) -> Result<(), ShareProcessError> {
    let io_error = |action| move |source| ShareProcessError::Io { action, source };
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let launch_spec = LaunchSpec::read_to_run(&files)?;
    let share = launch_spec.machine.shares.get(index);
    let Some(Share {
        access,
        shown: Shown::Entries(entries),
        ..
    }) = share
    else {
        return Err(ShareProcessError::Missing { index });
    };
    let listener = io::stdin().as_fd().try_clone_to_owned();
    let listener = UnixListener::from(listener.map_err(io_error("use standard input"))?);
    raise_open_files().map_err(io_error("raise the limit of open files"))?;
    let limits = Limits {
        open_files: None,
        file_bytes: None,
        data_bytes: None,
        any_owner: true,
    };
    renounce(&limits, launch_spec.jail)?;
    let served: Vec<_> = entries.iter().map(served).collect();
    let rules: Result<Vec<_>, _> = entries.iter().map(SharedRules::of).collect();
    let rules = rules?;
    let permissions = |index: usize| {
        let rules: Option<SharedRules> = rules.get(index)?.clone();
        rules.map(|rules| Box::new(rules) as Box<dyn Permissions>)
    };
    let is_read_only = *access == DiskAccess::ReadOnly;
    let opened = msb_share::Share::open_with(&served, is_read_only, permissions)?;
    let jail = Jail::new(access.calls_to_serve());
    let jail = opened.paths().fold(jail, |jail, (path, kind)| {
        jail.with(
            path,
            match kind {
                Kind::Directory => access.to_directory(),
                Kind::File | Kind::Disk => access.to_file(),
            },
        )
    });
    jail.put_on(launch_spec.jail)?;
    Ok(opened.serve(listener)?)
}

fn served(entry: &ShareEntry) -> Entry<'_> {
    Entry {
        name: &entry.name,
        path: &entry.path,
        kind: match entry.kind {
            ShareKind::Directory => Kind::Directory,
            ShareKind::File => Kind::File,
            ShareKind::Disk => Kind::Disk,
        },
    }
}

/// Raises the limit of open files: each file that the guest's kernel remembers is open here.
fn raise_open_files() -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Starts the process of each of the machine's shares, and connects to it for the VMM.
pub(crate) fn start(
    files: &SandboxPaths,
    launch_spec: &LaunchSpec,
    command: &VmmCommand,
) -> io::Result<Vec<OwnedFd>> {
    let shares = 0..launch_spec.machine.shares.len();
    shares
        .map(|index| start_one(files, index, command))
        .collect()
}

fn start_one(files: &SandboxPaths, index: usize, command: &VmmCommand) -> io::Result<OwnedFd> {
    let path = files.share_socket(index);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = socket::bind(&path)?;
    let called = socket::connect_now(&path);
    // The connection waits in the backlog until it is accepted; no other process may connect.
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
