#![expect(
    unsafe_code,
    reason = "inherited descriptors and signal handlers have no safe form"
)]
//! The agent's program as a process of a container: it sets the container up, or is in it already, and becomes the
//! program of the plan.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use container_plan::{ContainerPlan, Process, SeccompFilter};
use guest_container::{ContainerError, RootSource, Setup, open_terminal, restrict, set_up};
use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{Failure, FailureKind};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::control;
use super::ground::{DIRECTORY, DISKS};
use crate::console::chain;
use crate::exec::{Program, Replacement, find_program, own_home, parse_environment, variable};

/// The name by which the agent's program finds that it is to be a process of a container.
pub(crate) const PROGRAM_NAME: &str = "msb-container";

/// Exit codes of a process that is not started, as of a shell.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// The failure of a process, for the agent.
struct Refused(Failure);

impl Refused {
    fn new(kind: FailureKind, message: String) -> Self {
        let kind = kind.into();
        Self(Failure { kind, message })
    }
}

impl From<ContainerError> for Refused {
    fn from(error: ContainerError) -> Self {
        Self::new(FailureKind::BadRequest, chain(&error))
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::new(
            FailureKind::Guest,
            format!("cannot hear the agent: {error}"),
        )
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

/// Becomes the program of a plan. The arguments are the numbers of two descriptors: the control socket, and for a
/// first process the directory of the agent's own mounts. Returns only if that fails.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    // The name is for lists of processes alone.
    let _ = rustix::thread::set_name(c"msb-container");
    let Some(control) = inherited(arguments.next()) else {
        return NOT_EXECUTABLE.into();
    };
    let control = UnixStream::from(control);
    let Refused(failure) = match inherited(arguments.next()) {
        Some(own_mounts) => first(&control, own_mounts),
        None => further(&control),
    };
    control::send_failure(&control, &failure);
    match failure.kind() {
        FailureKind::CommandNotFound => NOT_FOUND.into(),
        _ => NOT_EXECUTABLE.into(),
    }
}

/// Takes a descriptor that this process has inherited, which its program does not inherit.
fn inherited(word: Option<OsString>) -> Option<OwnedFd> {
    let number = word?.to_str()?.parse().ok()?;
    // SAFETY: the agent has left this descriptor open for this process, which takes each of them once.
    let file = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl_setfd(&file, FdFlags::CLOEXEC).ok()?;
    Some(file)
}

/// Sets up the container around this process, its first one.
fn first(control: &UnixStream, own_mounts: OwnedFd) -> Refused {
    let made = || -> Result<Ready, Refused> {
        let parts = control::receive_parts(control)?;
        let plan = plan(parts.first())?;
        let root = root(parts.get(1..).unwrap_or_default())?;
        let terminal = set_up(&Setup {
            plan: &plan,
            root: &root,
            own_mounts: own_mounts.as_fd(),
        })?;
        ready(control, &plan.process, plan.seccomp.as_ref(), terminal)
    };
    become_program(made())
}

/// Becomes a further process of the container that this process is in.
fn further(control: &UnixStream) -> Refused {
    let made = || -> Result<Ready, Refused> {
        // No process of the container sees into this one.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(io::Error::from)?;
        let parts = control::receive_parts(control)?;
        let plan = plan(parts.first())?;
        let process = parts.get(1).map(Vec::as_slice).unwrap_or_default();
        let process = Process::from_bytes(process).map_err(bad_plan)?;
        let terminal = process.terminal;
        let terminal = terminal.map(|size| open_terminal(process.uid, size));
        ready(
            control,
            &process,
            plan.seccomp.as_ref(),
            terminal.transpose()?,
        )
    };
    become_program(made())
}

/// A process with all rights of its program, and no others.
struct Ready {
    program: Program,
    replacement: Replacement,
}

/// Executes the program. Returns only if that fails.
fn become_program(made: Result<Ready, Refused>) -> Refused {
    match made {
        Ok(ready) => {
            // Rust's runtime ignores this signal, and a program inherits that.
            // SAFETY: the call has no memory.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            let error = ready.replacement.execute();
            // SAFETY: as above. The agent may be gone when the failure is sent.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
            Refused(ready.program.explain(&error))
        }
        Err(refused) => refused,
    }
}

/// Takes the rights of a process, tells the agent, and waits for the start.
fn ready(
    control: &UnixStream,
    process: &Process,
    filter: Option<&SeccompFilter>,
    terminal: Option<OwnedFd>,
) -> Result<Ready, Refused> {
    restrict(process, filter, || -> Result<Ready, Refused> {
        let ready = find(process)?;
        control::send_ready(control, terminal.as_ref().map(OwnedFd::as_fd))?;
        drop(terminal);
        control::wait_for_go(control)?;
        Ok(ready)
    })
}

/// Finds the program of a process, as the process's user sees it.
fn find(process: &Process) -> Result<Ready, Refused> {
    let settings = process.env.iter();
    let settings: Vec<_> = settings
        .map(|setting| Bytes::copy_from_slice(setting.as_bytes()))
        .collect();
    let mut environment = parse_environment(&settings);
    if variable(&environment, "HOME").is_none() {
        let home = own_home().unwrap_or_else(|| "/".to_owned());
        environment.push(("HOME".into(), home.into()));
    }
    let word = process.args.first().map_or("", String::as_str);
    let directory = PathBuf::from(&process.cwd);
    let path = variable(&environment, "PATH");
    let path = find_program(word.as_bytes(), path, &directory)?;
    let arguments = process.args.iter().map(|argument| argument.as_bytes());
    let replacement = Replacement::new(&path, arguments, &environment);
    let replacement = replacement.map_err(|_| {
        let message = "an argument contains a NUL byte".to_owned();
        Refused::new(FailureKind::BadRequest, message)
    })?;
    let word = Bytes::copy_from_slice(word.as_bytes());
    Ok(Ready {
        program: Program {
            word,
            path,
            directory,
        },
        replacement,
    })
}

fn plan(part: Option<&Vec<u8>>) -> Result<ContainerPlan, Refused> {
    let bytes = part.map(Vec::as_slice).unwrap_or_default();
    ContainerPlan::from_bytes(bytes).map_err(bad_plan)
}

fn bad_plan(error: container_plan::PlanError) -> Refused {
    Refused::new(FailureKind::BadRequest, chain(&error))
}

/// Reads the origin of the root, as [`Ground`](super::ground::Ground) writes it.
fn root(parts: &[Vec<u8>]) -> Result<RootSource, Refused> {
    let paths = |parts: &[Vec<u8>]| parts.iter().map(|part| path(part)).collect();
    match parts {
        [kind, directory] if kind == DIRECTORY => Ok(RootSource::Directory(path(directory))),
        [kind, upper, layers @ ..] if kind == DISKS => Ok(RootSource::Disks {
            layers: paths(layers),
            upper: (!upper.is_empty()).then(|| path(upper)),
        }),
        _ => {
            let message = "the root filesystem has no origin".to_owned();
            Err(Refused::new(FailureKind::BadRequest, message))
        }
    }
}

fn path(part: &[u8]) -> PathBuf {
    OsString::from_vec(part.to_vec()).into()
}
