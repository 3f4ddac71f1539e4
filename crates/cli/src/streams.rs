//! Joins this process's streams and signals to a command in a sandbox.

use std::io;

use anyhow::anyhow;
use msb_agent_protocol::{Bytes, ClientError, Command, Control, Inputs, Output};
use msb_runtime::{Exit, Mark, Timeline};
use tokio::io::{AsyncWriteExt as _, Stderr, Stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::terminal::{self, RawTerminal};

/// What of this process is joined to a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joint {
    /// The command has a terminal.
    pub(crate) terminal: bool,
    /// Standard input is passed on.
    pub(crate) stdin: bool,
    /// Ctrl-P Ctrl-Q, typed at a terminal, leaves the command to itself.
    pub(crate) can_leave: bool,
}

/// What became of a command that was joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It ended, with this exit code.
    Exited(u8),
    /// The user left it to itself.
    Left,
    /// Its sandbox ended first.
    Lost,
}

/// Passes streams and signals of a command that has just started on until it ends.
pub(crate) async fn join(
    command: Command,
    joint: Joint,
    timeline: &Timeline,
) -> Result<Ending, Failure> {
    timeline.mark(Mark::CommandStarted)?;
    let Command {
        inputs,
        mut outputs,
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
    tokio::spawn(forward_signals(control, joint.terminal));
    let mut streams = Streams {
        stdout: tokio::io::stdout(),
        stderr: tokio::io::stderr(),
        is_silent: true,
        timeline,
    };
    let outcome = loop {
        let output = tokio::select! {
            output = outputs.next() => output,
            Some(()) = left.recv() => break Ok(Ending::Left),
        };
        match output {
            Ok(Some(output)) => match streams.handle(output).await {
                Ok(None) => {}
                Ok(Some(code)) => break Ok(Ending::Exited(code)),
                Err(failure) => break Err(failure),
            },
            // How the connection broke says only how it was noticed.
            Ok(None) | Err(_) => break Ok(Ending::Lost),
        }
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
    timeline: &'a Timeline,
}

impl Streams<'_> {
    /// Passes output on; gives the exit code once there is one.
    async fn handle(&mut self, output: Output) -> Result<Option<u8>, Failure> {
        match output {
            Output::Stdout(bytes) => {
                self.stdout.write_all(&bytes).await?;
                self.stdout.flush().await?;
                self.passed()?;
            }
            Output::Stderr(bytes) => {
                self.stderr.write_all(&bytes).await?;
                self.stderr.flush().await?;
                self.passed()?;
            }
            Output::Exited(status) => {
                self.timeline.mark(Mark::ExitSeen)?;
                return Ok(Some(Exit::code_of(status)));
            }
        }
        Ok(None)
    }

    /// Notes the first of what was passed on.
    fn passed(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_silent) {
            self.timeline.mark(Mark::FirstByte)?;
        }
        Ok(())
    }
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

/// Sends the signals that this process gets to the command, and the terminal's new sizes.
async fn forward_signals(mut control: Control, has_terminal: bool) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut resized = signal(SignalKind::window_change())?;
    loop {
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hangup.recv() => SignalKind::hangup(),
            _ = quit.recv() => SignalKind::quit(),
            _ = resized.recv() => SignalKind::window_change(),
        };
        // The command may just have ended.
        let _ = if kind != SignalKind::window_change() {
            control.signal(kind.as_raw_value()).await
        } else if has_terminal {
            control.resize(terminal::size()).await
        } else {
            Ok(())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
