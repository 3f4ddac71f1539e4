//! The processes that serve a machine's shares if its VMM does not.
//!
//! The VMM process starts each of them before it gives up its rights, in its process group: a kill
//! ends all. Otherwise a share process ends when the VMM closes the connection.
//!
//! A share with rules has a connection with the supervisor, for questions, answers and rules that change.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use fs_err as fs;
use msb_jail::{Jail, JailError, Limits, renounce};
use msb_runtime::{LaunchSpec, LaunchSpecError, SandboxPaths, VmmCommand};
use msb_share::{Asker, Entry, Kind, Permissions, ShareError};
use msb_vmm::{DiskAccess, Share, ShareEntry, ShareKind, Shown};
use path_rules::TooManyRules;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::one_connection::one_connection;
use crate::share_questions::{self, RuledDirectory};
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

/// The supervisor's end of the connection with the process of a share that has rules.
#[derive(Debug)]
pub(crate) struct ShareConnection {
    pub(crate) stream: UnixStream,
    /// The paths in the sandbox of the directories that have rules.
    pub(crate) targets: Vec<String>,
}

/// The connections with the processes of a machine's shares.
#[derive(Debug, Default)]
pub(crate) struct StartedShares {
    /// The VMM's ends, one for each share.
    pub(crate) for_vmm: Vec<OwnedFd>,
    pub(crate) for_supervisor: Vec<ShareConnection>,
}

/// Serves share number `index` of the machine of the sandbox in `directory`.
/// Standard input is the socket that the VMM connects to. Standard output is the connection with the supervisor if the
/// share has rules.
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
    let supervisor = take_stdout().map_err(io_error("use standard output"))?;
    raise_open_files().map_err(io_error("raise the limit of open files"))?;
    let limits = Limits {
        open_files: None,
        file_bytes: None,
        data_bytes: None,
        any_owner: true,
    };
    renounce(&limits, launch_spec.jail)?;
    let served: Vec<_> = entries.iter().map(served).collect();
    let directories: Result<Vec<_>, _> = entries.iter().map(ruled).collect();
    let directories = directories?;
    let permissions = |index: usize| {
        let rules = directories.get(index)?.as_ref()?.rules.clone();
        Some(Box::new(rules) as Box<dyn Permissions>)
    };
    let (user, link) = share_questions::user(directories.clone());
    let asker: Box<dyn Asker> = Box::new(user);
    let is_read_only = *access == DiskAccess::ReadOnly;
    let opened = msb_share::Share::open_with(&served, is_read_only, permissions, Some(asker))?;
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
    if has_rules(entries) {
        // Threads have the jail of the one that starts them.
        let started = link.start(supervisor, &opened.answers());
        started.map_err(io_error("start a thread of a shared directory"))?;
    }
    Ok(opened.serve(listener)?)
}

/// Takes the connection on standard output, where nothing is printed from then on.
fn take_stdout() -> io::Result<UnixStream> {
    let stream = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(fs::File::open("/dev/null")?)?;
    Ok(stream.into())
}

/// Returns the directory of an entry with its rules; `None` if it has none.
fn ruled(entry: &ShareEntry) -> Result<Option<RuledDirectory>, TooManyRules> {
    let rules = SharedRules::of(entry)?;
    Ok(rules.map(|rules| RuledDirectory {
        target: entry.target.clone(),
        rules,
    }))
}

fn has_rules(entries: &[ShareEntry]) -> bool {
    entries.iter().any(|entry| !entry.rules.is_empty())
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

/// Starts the process of each of the machine's shares, and connects to it for the VMM and the supervisor.
pub(crate) fn start(
    files: &SandboxPaths,
    launch_spec: &LaunchSpec,
    command: &VmmCommand,
) -> io::Result<StartedShares> {
    let mut started = StartedShares::default();
    for (index, share) in launch_spec.machine.shares.iter().enumerate() {
        let ruled = match &share.shown {
            Shown::Entries(entries) if has_rules(entries) => &entries[..],
            _ => &[],
        };
        let (stdout, connection) = if ruled.is_empty() {
            (Stdio::null(), None)
        } else {
            let (supervisor, process) = UnixStream::pair()?;
            let ruled = ruled.iter().filter(|entry| !entry.rules.is_empty());
            let connection = ShareConnection {
                stream: supervisor,
                targets: ruled.map(|entry| entry.target.clone()).collect(),
            };
            (Stdio::from(OwnedFd::from(process)), Some(connection))
        };
        let socket = start_one(files, index, command, stdout)?;
        started.for_vmm.push(socket);
        started.for_supervisor.extend(connection);
    }
    Ok(started)
}

fn start_one(
    files: &SandboxPaths,
    index: usize,
    command: &VmmCommand,
    stdout: Stdio,
) -> io::Result<OwnedFd> {
    let (listener, connected) = one_connection(&files.share_socket(index))?;
    Command::new(&command.program)
        .args(&command.arguments)
        .arg(&files.directory)
        .arg(index.to_string())
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(stdout)
        .spawn()?;
    Ok(connected)
}
