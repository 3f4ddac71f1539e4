//! Attempts at actions that a jail must not allow, made from inside it.

use std::fmt;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getppid, getrlimit, setrlimit, test_kill_process};

/// An action to attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Read a file.
    Read(PathBuf),
    /// Open a file for writing, without changing it.
    Write(PathBuf),
    /// Create a file, and remove it.
    Create(PathBuf),
    /// List a directory.
    List(PathBuf),
    /// Set a file's mode to the mode that it has.
    Chmod(PathBuf),
    /// Create a symlink, and remove it.
    Symlink(PathBuf),
    /// Connect to a TCP port of this host.
    ConnectTcp,
    /// Send a packet to a TCP port of this host; a refused connection counts as success.
    ReachTcp,
    /// Listen on a TCP port.
    ListenTcp,
    /// Open a UDP port.
    Udp,
    /// Connect to a Unix socket.
    ConnectUnix(PathBuf),
    /// Connect to the abstract Unix socket `msb-probe`.
    ConnectAbstract,
    /// Run a program.
    Spawn(PathBuf),
    /// Test if the parent process could be sent a signal.
    SignalParent,
    /// Raise the limit on core dumps.
    RaiseLimit,
    /// Set a limit of the parent process.
    LimitParent,
    /// Enter a new user namespace.
    Namespace,
    /// Mount a filesystem.
    Mount,
    /// Read an environment variable; an empty environment counts as a refusal.
    Environment,
    /// Start a thread.
    Thread,
}

/// The result of an attempt.
#[derive(Debug)]
pub enum Outcome {
    /// The action succeeded.
    Done,
    /// The action was refused for lack of a permission.
    Refused(io::Error),
    /// The action failed for another reason, which tells nothing about the jail.
    Failed(io::Error),
}

/// An action that was attempted, with its result.
#[derive(Debug)]
pub struct Attempt {
    /// The action.
    pub target: Target,
    /// The result.
    pub outcome: Outcome,
}

/// Attempts all actions in order. Removes everything that they create, if the jail allows it.
pub fn attempt_all(targets: impl IntoIterator<Item = Target>) -> Vec<Attempt> {
    let attempt = |target: Target| Attempt {
        outcome: outcome(attempt(&target)),
        target,
    };
    targets.into_iter().map(attempt).collect()
}

fn outcome(result: io::Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Outcome::Refused(error),
        Err(error) => Outcome::Failed(error),
    }
}

fn attempt(target: &Target) -> io::Result<()> {
    match target {
        Target::Read(path) => fs::File::open(path).map(drop),
        Target::Write(path) => fs::OpenOptions::new().write(true).open(path).map(drop),
        Target::Create(path) => {
            fs::File::create_new(path)?;
            fs::remove_file(path)
        }
        Target::List(path) => fs::read_dir(path).map(drop),
        Target::Chmod(path) => fs::set_permissions(path, fs::metadata(path)?.permissions()),
        Target::Symlink(path) => {
            std::os::unix::fs::symlink("/", path)?;
            fs::remove_file(path)
        }
        Target::Spawn(path) => Command::new(path).spawn()?.wait().map(drop),
        Target::SignalParent => Ok(getppid().map_or(Ok(()), test_kill_process)?),
        Target::RaiseLimit => raise_core_limit(),
        Target::Environment => match std::env::vars_os().next() {
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::PermissionDenied.into()),
        },
        Target::Thread => std::thread::Builder::new()
            .spawn(|| ())?
            .join()
            .map_err(|_| io::Error::other("the thread panicked")),
        other => connect(other),
    }
}

fn connect(target: &Target) -> io::Result<()> {
    match target {
        Target::ConnectTcp => TcpStream::connect(("127.0.0.1", 22)).map(drop),
        Target::ReachTcp => match TcpStream::connect(("127.0.0.1", 9)) {
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
            _ => Ok(()),
        },
        Target::ListenTcp => TcpListener::bind(("127.0.0.1", 0)).map(drop),
        Target::Udp => UdpSocket::bind(("127.0.0.1", 0)).map(drop),
        Target::ConnectUnix(path) => UnixStream::connect(path).map(drop),
        _ => sys::attempt(target),
    }
}

fn raise_core_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Core);
    let raised = limit.maximum.map(|maximum| maximum.saturating_add(1));
    let raised = Rlimit {
        current: raised,
        maximum: raised,
    };
    Ok(setrlimit(Resource::Core, raised)?)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read {}", path.display()),
            Self::Write(path) => write!(f, "write {}", path.display()),
            Self::Create(path) => write!(f, "make the file {}", path.display()),
            Self::Chmod(path) => write!(f, "change the mode of {}", path.display()),
            Self::List(path) => write!(f, "list {}", path.display()),
            Self::Symlink(path) => write!(f, "make the symlink {}", path.display()),
            Self::ConnectUnix(path) => write!(f, "connect to {}", path.display()),
            Self::Spawn(path) => write!(f, "run {}", path.display()),
            other => f.write_str(match other {
                Self::ConnectTcp => "connect to a TCP port",
                Self::ReachTcp => "reach a TCP port",
                Self::ListenTcp => "listen on a TCP port",
                Self::Udp => "open a UDP port",
                Self::ConnectAbstract => "connect to an abstract socket",
                Self::SignalParent => "signal the parent process",
                Self::RaiseLimit => "raise a limit",
                Self::LimitParent => "limit the parent process",
                Self::Namespace => "enter a namespace",
                Self::Mount => "mount a filesystem",
                Self::Environment => "read the environment",
                _ => "start a thread",
            }),
        }
    }
}

#[cfg(target_os = "linux")]
mod sys {
    use std::io;
    use std::os::fd::AsFd as _;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream};

    use rustix::mount::{MountFlags, mount};
    use rustix::process::{Resource, getppid, getrlimit, prlimit};
    use rustix::thread::move_into_link_name_space;

    use super::Target;

    pub(super) fn attempt(target: &Target) -> io::Result<()> {
        match target {
            Target::ConnectAbstract => {
                let address = SocketAddr::from_abstract_name("msb-probe")?;
                UnixStream::connect_addr(&address).map(drop)
            }
            Target::LimitParent => {
                let same = getrlimit(Resource::Core);
                Ok(prlimit(getppid(), Resource::Core, same).map(drop)?)
            }
            Target::Namespace => Ok(move_into_link_name_space(io::stdin().as_fd(), None)?),
            _ => Ok(mount("none", "/", "tmpfs", MountFlags::empty(), None)?),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    pub(super) fn attempt(_: &super::Target) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
