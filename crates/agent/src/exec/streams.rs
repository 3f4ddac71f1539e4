//! The streams of a command: pipes or a terminal, and the agent's ends of them.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::WindowSize;
use msb_agent_protocol::v1::exec_event::Event;
use rustix::fs::{FileType, OFlags, fchown};
use rustix::io::ioctl_fionbio;
use rustix::process::Uid;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::descriptor::Descriptor;
use crate::guarded_file::open_as;

/// Control-D, the character that ends a terminal's input.
pub(super) const END_OF_TRANSMISSION: u8 = 4;

/// The agent's end of a command's standard input.
#[derive(Debug)]
pub(super) struct Stdin {
    pub(super) stream: Descriptor,
    pub(super) is_terminal: bool,
}

/// The conversion of a stream's bytes into an event.
type Naming = fn(Bytes) -> Event;

/// A stream of output, and the event that carries its bytes.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stream: Descriptor,
    pub(super) event: Naming,
}

/// The agent's end of a command's terminal.
#[derive(Debug)]
pub(crate) struct Terminal(OwnedFd);

impl Terminal {
    pub(crate) fn resize(&self, size: WindowSize) {
        // The size of a terminal whose command has ended does not matter.
        let _ = tcsetwinsize(&self.0, winsize(size));
    }

    /// Returns another handle of the terminal.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}

fn winsize(size: WindowSize) -> Winsize {
    let cells = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    Winsize {
        ws_row: cells(size.rows),
        ws_col: cells(size.columns),
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// The agent's ends of a command's streams, before they are polled.
pub(super) struct Streams {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) terminal: Option<OwnedFd>,
    pub(super) outputs: Vec<(OwnedFd, Naming)>,
}

/// The agent's ends of a command's streams, which can be polled.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) stdin: Option<Stdin>,
    pub(super) terminal: Option<Terminal>,
    pub(super) outputs: Vec<Output>,
}

impl Streams {
    /// Returns the streams of a command on a terminal, from the terminal's master.
    pub(super) fn of_terminal(master: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stdin: Some(master.try_clone()?),
            outputs: vec![(master.try_clone()?, Event::Stdout)],
            terminal: Some(master),
        })
    }

    /// Lets the event loop poll the streams.
    pub(super) fn watch(self) -> io::Result<Ends> {
        let outputs = self.outputs.into_iter().map(|(file, event)| {
            Ok(Output {
                stream: Descriptor::new(file)?,
                event,
            })
        });
        let outputs = outputs.collect::<io::Result<_>>()?;
        let stream = self.stdin.map(Descriptor::new).transpose()?;
        let is_terminal = self.terminal.is_some();
        Ok(Ends {
            stdin: stream.map(|stream| Stdin {
                stream,
                is_terminal,
            }),
            terminal: self.terminal.map(Terminal),
            outputs,
        })
    }
}

/// Opens a command's pipes. They belong to the command's user, who can then open them anew by
/// `/dev/stdout` and `/proc/self/fd`, as with runc. `/dev/null` keeps its owner.
pub(super) fn pipe_streams(
    command: &mut Command,
    wants_stdin: bool,
    owner: Uid,
) -> io::Result<Streams> {
    let stdin = if wants_stdin {
        let (read, write) = pipe_of(owner)?;
        command.stdin(read);
        Some(write.into())
    } else {
        command.stdin(nothing_to_read(owner)?);
        None
    };
    let (stdout, stdout_write) = pipe_of(owner)?;
    let (stderr, stderr_write) = pipe_of(owner)?;
    command.stdout(stdout_write).stderr(stderr_write);
    let outputs: Vec<(OwnedFd, Naming)> = vec![
        (stdout.into(), Event::Stdout),
        (stderr.into(), Event::Stderr),
    ];
    Ok(Streams {
        stdin,
        terminal: None,
        outputs,
    })
}

/// Gives a command that has no host to talk to streams that are not read.
pub(super) fn no_streams(command: &mut Command) -> io::Result<Streams> {
    let null = open_as("/dev/null", FileType::CharacterDevice, OFlags::RDWR)?;
    let (stdout, stderr) = (null.try_clone()?, null.try_clone()?);
    command.stdin(null).stdout(stdout).stderr(stderr);
    Ok(Streams {
        stdin: None,
        terminal: None,
        outputs: Vec::new(),
    })
}

/// Opens a pipe that belongs to a user. Both ends share one inode, so one change of owner is
/// enough.
fn pipe_of(owner: Uid) -> io::Result<(PipeReader, PipeWriter)> {
    let (read, write) = io::pipe()?;
    fchown(&write, Some(owner), None)?;
    Ok((read, write))
}

/// Returns an input that reads as empty. It is `/dev/null`, or a pipe without a writer if root in
/// the guest has replaced `/dev/null`.
fn nothing_to_read(owner: Uid) -> io::Result<Stdio> {
    match open_as("/dev/null", FileType::CharacterDevice, OFlags::RDONLY) {
        Ok(null) => {
            ioctl_fionbio(&null, false)?;
            Ok(null.into())
        }
        Err(_) => Ok(pipe_of(owner)?.0.into()),
    }
}

/// Opens a command's terminal. It belongs to the command's user; the group and the mode, `tty` and
/// 0620, are those that devpts gives.
pub(super) fn terminal_streams(
    command: &mut Command,
    size: WindowSize,
    owner: Uid,
) -> io::Result<Streams> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    fchown(&slave, Some(owner), None)?;
    tcsetwinsize(&slave, winsize(size))?;
    command
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave);
    Streams::of_terminal(master)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_command_without_input_reads_the_end_at_once() {
        let mut command = Command::new("cat");
        let command = command.stdin(nothing_to_read(rustix::process::getuid()).expect("opened"));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("started");
        let mut said = Vec::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        stdout.read_to_end(&mut said).expect("read");
        assert!(said.is_empty() && child.wait().expect("ended").success());
    }
}
