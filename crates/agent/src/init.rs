#![expect(unsafe_code, reason = "waiting for signals has no safe form")]
//! The agent's program as process 1 of a sandbox: the init of the main command, and the holder of the
//! namespaces where there is no main command. It is a separate process with one thread.

use std::ffi::{OsStr, OsString, c_int};
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::ptr;
use std::time::Duration;

use guest_container::Replacement;
use msb_agent_protocol::v1::FailureKind;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, setpgid, wait};
use rustix::termios::tcsetpgrp;

use crate::exec::find_program;

/// The name by which the agent's program finds that it is to be an init.
pub(crate) const NAME: &str = "msb-init";
/// The word before the command.
pub(crate) const COMMAND_FOLLOWS: &str = "--";

/// Exit codes of a command that cannot be started, as of a shell.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// The number that a shell adds to the number of the signal that killed a command.
const KILLED: i32 = 128;
/// The interval in which the holder looks for processes that are left when it ends.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Signals that the kernel sends for a fault of this program itself.
const FAULTS: [c_int; 7] = [
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Runs the command that the arguments have, or holds the namespaces if they have none. Returns the exit code.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    // The name is for lists of processes alone.
    let _ = rustix::thread::set_name(c"msb-init");
    let signals = Signals::block();
    let command: Vec<OsString> = arguments.skip(1).collect();
    let Some(word) = command.first() else {
        hold(&signals);
        return ExitCode::SUCCESS;
    };
    match start(word, &command, &signals) {
        Ok(child) => attend(child, &signals).into(),
        Err(error) => {
            // Whoever closed the output gets the exit code alone.
            let _ = writeln!(
                io::stderr(),
                "msb: cannot start '{}': {error}",
                word.display()
            );
            match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND.into(),
                _ => NOT_EXECUTABLE.into(),
            }
        }
    }
}

/// Keeps the namespaces until the agent, which is outside of them, sends SIGTERM, and every other process in
/// them has ended.
fn hold(signals: &Signals) {
    let mut is_ending = false;
    while !(is_ending && is_alone()) {
        let timeout = is_ending.then_some(POLL_INTERVAL);
        match signals.next(timeout) {
            // A sender in another namespace has no number here.
            Some((libc::SIGTERM, 0)) => is_ending = true,
            Some((libc::SIGCHLD, _)) => {
                reap(None);
            }
            _ => {}
        }
    }
}

/// Starts the command in its own process group, which the terminal's signals are for.
fn start(word: &OsStr, command: &[OsString], signals: &Signals) -> io::Result<Pid> {
    let path = std::env::var_os("PATH");
    let program = find_program(word.as_bytes(), path.as_deref(), Path::new("."));
    let program = program.map_err(|failure| {
        let kind = match failure.kind() {
            FailureKind::CommandNotFound => io::ErrorKind::NotFound,
            _ => io::ErrorKind::PermissionDenied,
        };
        io::Error::new(kind, failure.message)
    })?;
    let environment: Vec<_> = std::env::vars_os().collect();
    let words = command.iter().map(|word| word.as_bytes());
    let replacement = Replacement::new(&program, words, &environment)?;
    // SAFETY: the calls have no memory. A process in the background that gives the terminal to another group
    // would otherwise be stopped.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    let before = signals.before;
    let mut child = Command::new(&program);
    let in_child = move || {
        setpgid(None, None)?;
        // The command may have no terminal.
        let _ = tcsetpgrp(io::stdin(), getpid());
        // SAFETY: the calls read the set, which was made before the fork.
        unsafe {
            libc::signal(libc::SIGTTOU, libc::SIG_DFL);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        }
        Err(replacement.execute())
    };
    // SAFETY: only system calls are made, and the captured values were made before the fork.
    let child = unsafe { child.pre_exec(in_child) }.spawn()?;
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Passes signals on to the command and reaps orphans until the command has ended. Returns its exit code.
fn attend(child: Pid, signals: &Signals) -> u8 {
    loop {
        match signals.next(None) {
            Some((libc::SIGCHLD, _)) => {
                if let Some(code) = reap(Some(child)) {
                    return code;
                }
            }
            Some((signal, _)) => {
                // SAFETY: the call takes two numbers. The command has not been reaped.
                unsafe { libc::kill(child.as_raw_nonzero().get(), signal) };
            }
            None => {}
        }
    }
}

/// Reaps every child that has ended. Returns the exit code of the command if it is one of them.
fn reap(command: Option<Pid>) -> Option<u8> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if Some(pid) == command {
            ended = exit_code(status);
        }
    }
    ended
}

fn exit_code(status: WaitStatus) -> Option<u8> {
    let killed = || status.terminating_signal().map(|signal| KILLED + signal);
    u8::try_from(status.exit_status().or_else(killed)?).ok()
}

/// Returns true if this process sees no other one.
fn is_alone() -> bool {
    // SAFETY: the call takes two numbers, and sends nothing.
    let sent = unsafe { libc::kill(-1, 0) };
    sent == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// The signals that wait for this process instead of interrupting it.
struct Signals {
    all: libc::sigset_t,
    /// The signals that were blocked before.
    before: libc::sigset_t,
}

impl Signals {
    fn block() -> Self {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: the first call and the last one write a whole set, the others change the first one.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for fault in FAULTS {
                libc::sigdelset(all.as_mut_ptr(), fault);
            }
            libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Self {
                all: all.assume_init(),
                before: before.assume_init(),
            }
        }
    }

    /// Waits for a signal, and returns it with its sender's process number. `None` if none came in time.
    fn next(&self, timeout: Option<Duration>) -> Option<(c_int, i32)> {
        let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
        let timeout = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs().cast_signed(),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the set was made, the structure may be written, and the time lives until the call returns.
        let signal =
            unsafe { libc::sigtimedwait(&raw const self.all, about.as_mut_ptr(), timeout) };
        // SAFETY: a structure of zeros is valid, and the kernel has filled the fields of a signal with a sender.
        let sender = unsafe { about.assume_init().si_pid() };
        (signal > 0).then_some((signal, sender))
    }
}
