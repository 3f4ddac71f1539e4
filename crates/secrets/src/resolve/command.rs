//! The output of a command of the host, bounded in length and in time.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::SOURCE_TIMEOUT;
use super::intake::Intake;
use crate::value::VALUE_MAX_BYTES;
use crate::wait::is_ready;

/// The shell that runs the commands.
const SHELL: &str = "/bin/sh";

/// A command printed no value. Its output is not part of the error.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The shell cannot be started.
    #[error("cannot start {SHELL}")]
    Start(#[source] io::Error),
    /// The output or the end of the command cannot be read.
    #[error("cannot read its output")]
    Read(#[source] io::Error),
    /// The command did not end in time, and was killed.
    #[error("it did not end within {} seconds", SOURCE_TIMEOUT.as_secs())]
    TimedOut,
    /// The command printed more than a value can have, and was killed.
    #[error("it printed more than {VALUE_MAX_BYTES} bytes, which is the limit")]
    TooLong,
    /// The command ended with an error.
    #[error("it failed with {status}")]
    Failed {
        /// The exit status.
        status: ExitStatus,
    },
}

/// Returns the output of a command after it has ended.
///
/// All processes of the command's process group are killed at its end.
pub(super) fn output(command: &str, deadline: Instant) -> Result<Intake, CommandError> {
    let mut shell = Command::new(SHELL);
    shell.arg("-c").arg(command).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = shell.spawn().map_err(CommandError::Start)?;
    let output = read_output(&mut child, deadline);
    // The child is not reaped yet, so the number of its group belongs to no other process. It is gone if
    // the child has ended alone.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let status = child.wait().map_err(CommandError::Read)?;
    let output = output?;
    if status.success() {
        Ok(output)
    } else {
        Err(CommandError::Failed { status })
    }
}

/// Reads until the command has ended. A process that it leaves behind can keep the output open.
fn read_output(child: &mut Child, deadline: Instant) -> Result<Intake, CommandError> {
    let exit = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    let exit = exit.map_err(|error| CommandError::Read(error.into()))?;
    let mut stdout = child.stdout.take();
    let mut output = Intake::new();
    loop {
        // The exit is looked at first: what a command has written before it ended is then seen as well.
        let mut watched = vec![PollFd::new(&exit, PollFlags::IN)];
        watched.extend(
            stdout
                .as_ref()
                .map(|stdout| PollFd::new(stdout, PollFlags::IN)),
        );
        if !is_ready(&mut watched, deadline).map_err(CommandError::Read)? {
            return Err(CommandError::TimedOut);
        }
        let has_event = |index: usize| {
            watched
                .get(index)
                .is_some_and(|watched| !watched.revents().is_empty())
        };
        let (has_ended, is_readable) = (has_event(0), has_event(1));
        drop(watched);
        match &stdout {
            Some(open) if is_readable => {
                if !output.read(open).map_err(CommandError::Read)? {
                    stdout = None;
                }
                if output.is_full() {
                    return Err(CommandError::TooLong);
                }
            }
            // The pipe is empty: all that the command has written was read.
            _ if has_ended => return Ok(output),
            _ => {}
        }
    }
}

impl Diagnose for CommandError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Start(source) | Self::Read(source) => source.diagnosis(),
            Self::TimedOut => Diagnosis::new(ErrorKind::InvalidArgument).hint(
                "run the command by hand: it must print the value and end, and cannot ask for anything",
            ),
            Self::TooLong => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint("have the command print the value and nothing else"),
            Self::Failed { .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint("run the command by hand to see its error"),
        }
    }
}
