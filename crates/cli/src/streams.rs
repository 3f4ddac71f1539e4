//! Joins this process's streams and signals to a command in a sandbox.

use std::io;
use std::time::Duration;

use anyhow::anyhow;
use msb_agent_protocol::{Bytes, ClientError, Command, Control, Inputs, Output, Outputs};
use msb_runtime::{Exit, Mark, Timeline};
use tokio::io::{AsyncWrite, AsyncWriteExt as _, Stderr, Stdout};
use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;
use crate::output::Stream;
use crate::signals;
use crate::terminal::{self, RawTerminal};

/// How long a command may take to end that was told that nobody reads what it prints.
const UNREAD_LIMIT: Duration = Duration::from_secs(2);

/// What of this process is joined to a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joint {
    /// The command has a terminal.
    pub(crate) terminal: bool,
    /// Standard input is passed on.
    pub(crate) stdin: bool,
    /// Ctrl-P Ctrl-Q, typed at a terminal, leaves the command to itself.
    pub(crate) can_leave: bool,
    /// The command lives for this process, and goes with it.
    pub(crate) is_ours: bool,
}

/// What became of a command that was joined.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It ended, with this exit code.
    Exited(u8),
    /// The user left it to itself.
    Left,
    /// Its sandbox ended first.
    Lost,
    /// It goes on, and nobody reads what it prints.
    Unread,
    /// It goes on, and what it prints cannot be written here.
    Unwritable(Failure),
    /// It goes on, though the user asked it to end as often as anybody asks.
    Enough,
}

/// The exit code of who prints for nobody, as SIGPIPE would give it.
pub(crate) const EXIT_UNREAD: u8 = 128 + 13;
/// That of a command that was killed.
pub(crate) const EXIT_KILLED: u8 = 128 + 9;
/// That of who is interrupted and leaves a command behind.
pub(crate) const EXIT_INTERRUPTED: u8 = 128 + 2;

/// Passes streams and signals of a command that has just started on until it ends.
pub(crate) async fn join(
    command: Command,
    joint: Joint,
    timeline: &Timeline,
) -> Result<Ending, Failure> {
    timeline.mark(Mark::CommandStarted)?;
    let Command {
        inputs,
        outputs,
        mut control,
        ..
    } = command;
    let is_typed = joint.terminal && terminal::stdin_is_terminal();
    let raw = is_typed.then(RawTerminal::enter).transpose()?;
    if is_typed {
        // The terminal may have changed since the command was given its size.
        let _ = control.resize(terminal::size()).await;
    }
    let (leave, mut left) = mpsc::channel(1);
    let mut sending = None;
    if joint.stdin {
        let (sender, pending) = mpsc::channel(4);
        let keys = (is_typed && joint.can_leave).then(LeaveKeys::default);
        std::thread::spawn(move || read_stdin(&sender, keys, &leave));
        sending = Some(tokio::spawn(send_stdin(inputs.clone(), pending)));
    }
    let (enough, mut had_enough) = mpsc::channel(1);
    let next = if joint.is_ours {
        "kills it"
    } else {
        "leaves it to itself"
    };
    let forwarded = signals::forward(control.clone(), joint.terminal, next, enough);
    tokio::spawn(forwarded);
    let mut streams = Streams {
        stdout: tokio::io::stdout(),
        stderr: tokio::io::stderr(),
        is_silent: true,
        unread: None,
        timeline,
    };
    let outcome = tokio::select! {
        outcome = streams.pass_on(outputs, joint.is_ours.then_some(control)) => outcome,
        Some(()) = left.recv() => Ok(Ending::Left),
        Some(()) = had_enough.recv() => Ok(Ending::Enough),
    };
    drop(raw);
    // Until now: the machine is kept for who has not heard the end.
    if let Some(sending) = sending {
        sending.abort();
        let _ = sending.await;
    }
    drop(inputs);
    outcome
}

/// Where a command's output goes.
struct Streams<'a> {
    stdout: Stdout,
    stderr: Stderr,
    /// Nothing came yet.
    is_silent: bool,
    /// Nobody reads any more; until when the command may end.
    unread: Option<Instant>,
    timeline: &'a Timeline,
}

impl Streams<'_> {
    /// Passes output on until the command ends. When nobody reads it any more, a command that is
    /// `ours` is told so, as a pipe would tell it.
    async fn pass_on(
        &mut self,
        mut outputs: Outputs,
        ours: Option<Control>,
    ) -> Result<Ending, Failure> {
        loop {
            let output = match self.unread {
                None => outputs.next().await,
                Some(deadline) => match timeout_at(deadline, outputs.next()).await {
                    Ok(output) => output,
                    Err(_) => return Ok(Ending::Unread),
                },
            };
            match output {
                Ok(Some(Output::Exited(status))) => {
                    self.timeline.mark(Mark::ExitSeen)?;
                    return Ok(Ending::Exited(Exit::code_of(status)));
                }
                Ok(Some(output)) => {
                    let was_read = self.unread.is_none();
                    if let Err(failure) = self.write(output).await {
                        return Ok(Ending::Unwritable(failure));
                    }
                    if was_read && self.unread.is_some() {
                        let Some(control) = ours.clone() else {
                            return Ok(Ending::Unread);
                        };
                        tokio::spawn(tell_unread(control));
                    }
                }
                // How the connection broke says only how it was noticed.
                Ok(None) | Err(_) => return Ok(Ending::Lost),
            }
        }
    }

    async fn write(&mut self, output: Output) -> Result<(), Failure> {
        let is_read = match output {
            Output::Stdout(bytes) => write(&mut self.stdout, Stream::Stdout, &bytes).await?,
            Output::Stderr(bytes) => write(&mut self.stderr, Stream::Stderr, &bytes).await?,
            Output::Exited(_) => true,
        };
        if !is_read {
            self.unread
                .get_or_insert_with(|| Instant::now() + UNREAD_LIMIT);
        }
        if std::mem::take(&mut self.is_silent) {
            self.timeline.mark(Mark::FirstByte)?;
        }
        Ok(())
    }
}

/// Writes to one of this process's streams. Whether somebody still reads there.
async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    name: Stream,
    bytes: &[u8],
) -> io::Result<bool> {
    let written = async {
        stream.write_all(bytes).await?;
        stream.flush().await
    };
    match written.await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(name.unwritable(error)),
    }
}

/// The command may just have ended.
async fn tell_unread(mut control: Control) {
    let _ = control.signal(SignalKind::pipe().as_raw_value()).await;
}

pub(crate) fn not_started(error: ClientError) -> Failure {
    match error {
        ClientError::Refused(refusal) => {
            let code = Exit::code_of_refused(&refusal);
            Failure::with_exit_code(anyhow!(refusal.message), code)
        }
        error => anyhow::Error::from(error)
            .context("cannot reach the sandbox")
            .into(),
    }
}

/// The keys that leave a command, as docker has them.
#[derive(Debug, Default)]
struct LeaveKeys {
    /// Ctrl-P was typed, and not passed on yet.
    is_begun: bool,
}

impl LeaveKeys {
    const BEGIN: u8 = 16;
    const END: u8 = 17;

    /// What of the typed bytes is to be passed on; `None` when they say to leave.
    fn filter(&mut self, typed: &[u8]) -> Option<Vec<u8>> {
        let mut passed = Vec::with_capacity(typed.len() + 1);
        for &byte in typed {
            match (std::mem::take(&mut self.is_begun), byte) {
                (true, Self::END) => return None,
                (was_begun, byte) => {
                    passed.extend(was_begun.then_some(Self::BEGIN));
                    self.is_begun = byte == Self::BEGIN;
                    passed.extend((!self.is_begun).then_some(byte));
                }
            }
        }
        Some(passed)
    }
}

/// Reads standard input to its end. A thread of its own: such a read cannot be cancelled.
fn read_stdin(sender: &mpsc::Sender<Bytes>, mut keys: Option<LeaveKeys>, leave: &mpsc::Sender<()>) {
    let mut stdin = io::stdin().lock();
    let mut chunk = vec![0; msb_agent_protocol::CHUNK_MAX_BYTES - 1];
    loop {
        let length = match io::Read::read(&mut stdin, &mut chunk) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let bytes = match &mut keys {
            None => Bytes::copy_from_slice(&chunk[..length]),
            Some(keys) => match keys.filter(&chunk[..length]) {
                Some(passed) if passed.is_empty() => continue,
                Some(passed) => passed.into(),
                None => {
                    let _ = leave.blocking_send(());
                    return;
                }
            },
        };
        if sender.blocking_send(bytes).is_err() {
            return;
        }
    }
}

/// Passes on what was read, until the command wants no more or there is no more.
async fn send_stdin(inputs: Inputs, mut pending: mpsc::Receiver<Bytes>) {
    while let Some(bytes) = pending.recv().await {
        if !inputs.send(bytes).await {
            return;
        }
    }
    inputs.end().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pipe_that_nobody_reads_is_no_error() {
        let (reader, mut writer) = tokio::io::duplex(64);
        let wrote = write(&mut writer, Stream::Stdout, b"text").await;
        assert!(wrote.expect("written"));
        drop(reader);
        let wrote = write(&mut writer, Stream::Stdout, b"text").await;
        assert!(!wrote.expect("no error"));
    }

    #[test]
    fn two_keys_in_a_row_leave() {
        let mut keys = LeaveKeys::default();
        assert_eq!(keys.filter(b"ab"), Some(b"ab".to_vec()));
        assert_eq!(keys.filter(b"a\x10"), Some(b"a".to_vec()));
        assert_eq!(keys.filter(b"b"), Some(b"\x10b".to_vec()));
        assert_eq!(keys.filter(b"\x10\x10"), Some(b"\x10".to_vec()));
        assert_eq!(keys.filter(b"\x11"), None);
    }
}
