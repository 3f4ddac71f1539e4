#![expect(
    unsafe_code,
    reason = "inherited descriptors and signal handlers have no safe form"
)]
//! The agent's program as a process of a container: it sets the container up, or is in it already, and becomes the
//! program of the plan.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use container_plan::{ContainerPlan, Process, SeccompFilter};
use msb_agent_protocol::v1::{Failure, FailureKind};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::error::chain;
use crate::restrict::restrict;
use crate::setup::{Setup, set_up};
use crate::terminal::open_terminal;
use crate::{ContainerError, Replacement, RootSource, control};

/// The name by which the agent's program finds that it is to be a process of a container.
pub const PROGRAM_NAME: &str = "msb-container";

/// Exit codes of a process that is not started, as of a shell.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// A program that was found in the container's root, as its user sees it.
pub struct Found {
    /// The program, with its arguments and its environment.
    pub replacement: Replacement,
    /// Finds the reason why the kernel refuses the program.
    pub explain: Box<dyn FnOnce(&io::Error) -> Failure>,
}

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

/// The search for the program of a process, by its user, in the container's root.
type Find = fn(&Process) -> Result<Found, Failure>;

/// Becomes the program of a plan, which `find` finds. The arguments are the numbers of two descriptors: the control
/// socket, and for a first process the directory of the agent's own mounts. Returns only if that fails.
pub fn become_process(mut arguments: impl Iterator<Item = OsString>, find: Find) -> ExitCode {
    // The name is for lists of processes alone.
    let _ = rustix::thread::set_name(c"msb-container");
    let Some(control) = inherited(arguments.next()) else {
        return NOT_EXECUTABLE.into();
    };
    let control = UnixStream::from(control);
    let Refused(failure) = match inherited(arguments.next()) {
        Some(own_mounts) => first(&control, own_mounts, find),
        None => further(&control, find),
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
fn first(control: &UnixStream, own_mounts: OwnedFd, find: Find) -> Refused {
    let made = move || -> Result<Found, Refused> {
        let parts = control::receive_parts(control)?;
        let plan = plan(parts.first())?;
        let root = RootSource::from_parts(parts.get(1..).unwrap_or_default())?;
        let terminal = set_up(&Setup {
            plan: &plan,
            root: &root,
            own_mounts: own_mounts.as_fd(),
        })?;
        // Nothing outside of the root is open while paths of the plan are looked up.
        drop(own_mounts);
        ready(
            control,
            &plan.process,
            plan.seccomp.as_ref(),
            terminal,
            find,
        )
    };
    become_program(made())
}

/// Becomes a further process of the container that this process is in.
fn further(control: &UnixStream, find: Find) -> Refused {
    let made = || -> Result<Found, Refused> {
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
            find,
        )
    };
    become_program(made())
}

/// Executes the program. Returns only if that fails.
fn become_program(made: Result<Found, Refused>) -> Refused {
    match made {
        Ok(found) => {
            // Rust's runtime ignores this signal, and a program inherits that.
            // SAFETY: the call has no memory.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            let error = found.replacement.execute();
            // SAFETY: as above. The agent may be gone when the failure is sent.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
            Refused((found.explain)(&error))
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
    find: Find,
) -> Result<Found, Refused> {
    restrict(process, filter, || -> Result<Found, Refused> {
        let found = find(process)?;
        control::send_ready(control, terminal.as_ref().map(OwnedFd::as_fd))?;
        drop(terminal);
        control::wait_for_go(control)?;
        Ok(found)
    })
}

fn plan(part: Option<&Vec<u8>>) -> Result<ContainerPlan, Refused> {
    let bytes = part.map(Vec::as_slice).unwrap_or_default();
    ContainerPlan::from_bytes(bytes).map_err(bad_plan)
}

fn bad_plan(error: container_plan::PlanError) -> Refused {
    Refused::new(FailureKind::BadRequest, chain(&error))
}
