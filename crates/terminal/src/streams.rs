//! Connects this process's streams and signals to a command in a sandbox.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use msb_machine_records::{Mark, Timeline};
use msb_sdk::{Bytes, EndReason, ErrorKind, Event, Process, Stdin};
use terminal_text::Escaper;
use tokio::io::{AsyncWrite, AsyncWriteExt as _, Stderr, Stdout};
use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::failure::{Failure, printable};
use crate::foreign_output::say_escaped;
use crate::output::{self, Stream};
use crate::signals;
use crate::terminal::{self, RawTerminal};

/// The time that a command may take to end after it got SIGPIPE.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(2);

/// The most bytes of standard input that are read at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// The parts of this process that are connected to a command.
#[derive(Debug, Clone, Copy)]
pub struct Joint {
    /// True if the command has a terminal.
    pub terminal: bool,
    /// True if standard input is passed on.
    pub stdin: bool,
    /// True if Ctrl-P Ctrl-Q, typed at a terminal, detaches from the command.
    pub can_leave: bool,
    /// True if the command ends with this process.
    pub is_ours: bool,
    /// True if the output is msb's report rather than the guest's own: a terminal gets it escaped.
    pub is_report: bool,
}

/// The way in which a connection to a command ended.
#[derive(Debug)]
pub enum Ending {
    /// The command ended with this exit code, perhaps because of a limit of its sandbox.
    Exited {
        /// The exit code.
        code: u8,
        /// The limit that ended the command; `None` if none did.
        reason: Option<EndReason>,
    },
    /// The user detached from the command.
    Left,
    /// The sandbox ended before the command did.
    Lost,
    /// The guest's agent says nothing any more; the failure has the reason.
    Silent(Failure),
    /// The command goes on, and nothing reads its output.
    Unread,
    /// The command goes on, and its output cannot be written.
    Unwritable(Failure),
    /// The command goes on, although the user has asked often enough for it to end.
    Enough,
}

/// The exit code of a process whose output nothing reads, as SIGPIPE would give it.
pub const EXIT_UNREAD: u8 = 128 + 13;
/// The exit code of a command that was killed.
pub const EXIT_KILLED: u8 = 128 + 9;
/// The exit code of a process that is interrupted and leaves its command running.
pub const EXIT_INTERRUPTED: u8 = 128 + 2;

/// Passes the streams and signals of a command that has just started until it ends.
pub async fn join(process: Process, joint: Joint, timeline: &Timeline) -> Result<Ending, Failure> {
    timeline.mark(Mark::CommandStarted)?;
    let process = Arc::new(process);
    let is_typed = joint.terminal && terminal::stdin_is_terminal();
    let raw = is_typed.then(RawTerminal::enter).transpose()?;
    if is_typed {
        // The terminal may have been resized since the command got its size.
        let size = terminal::size();
        let _ = process.resize(size.rows, size.cols).await;
    }
    let (leave, mut left) = mpsc::channel(1);
    let mut sending = None;
    if joint.stdin {
        let (sender, pending) = mpsc::channel(4);
        let keys = (is_typed && joint.can_leave).then(LeaveKeys::default);
        std::thread::spawn(move || read_stdin(&sender, keys, &leave));
        sending = Some(tokio::spawn(send_stdin(process.stdin(), pending)));
    }
    let (enough, mut had_enough) = mpsc::channel(1);
    let next = if joint.is_ours {
        "kills it"
    } else {
        "leaves it running"
    };
    let forwarded = signals::forward(Arc::clone(&process), joint.terminal, next, enough);
    tokio::spawn(forwarded);
    let mut streams = Streams {
        stdout: tokio::io::stdout(),
        stderr: tokio::io::stderr(),
        escapers: [
            joint.is_report && terminal::stdout_is_terminal(),
            joint.is_report && terminal::stderr_is_terminal(),
        ]
        .map(|is_escaped| is_escaped.then(Escaper::default)),
        is_silent: true,
        unread: None,
        timeline,
    };
    let outcome = tokio::select! {
        outcome = streams.pass_on(&process, joint.is_ours) => outcome,
        Some(()) = left.recv() => Ok(Ending::Left),
        Some(()) = had_enough.recv() => Ok(Ending::Enough),
    };
    drop(raw);
    streams.end_escaped().await;
    for message in process.disk_errors() {
        // The command's own output may not give the cause.
        output::notice(&format!("of the sandbox: {}", printable(&message)));
    }
    if let Some(sending) = sending {
        sending.abort();
        let _ = sending.await;
    }
    process.close();
    outcome
}

/// The destination of a command's output.
struct Streams<'a> {
    stdout: Stdout,
    stderr: Stderr,
    /// The escapers of standard output and of standard error; `None` if the bytes pass unchanged.
    escapers: [Option<Escaper>; 2],
    /// True until the first output.
    is_silent: bool,
    /// The deadline for the command's end if nothing reads the output.
    unread: Option<Instant>,
    timeline: &'a Timeline,
}

impl Streams<'_> {
    /// Passes output on until the command ends. If nothing reads the output any more, a command that
    /// `is_ours` gets SIGPIPE, as from a pipe.
    async fn pass_on(&mut self, process: &Arc<Process>, is_ours: bool) -> Result<Ending, Failure> {
        loop {
            let event = match self.unread {
                None => process.next().await,
                Some(deadline) => match timeout_at(deadline, process.next()).await {
                    Ok(event) => event,
                    Err(_) => return Ok(Ending::Unread),
                },
            };
            match event {
                Ok(Some(Event::Exit(exit))) => {
                    self.timeline.mark(Mark::ExitSeen)?;
                    return Ok(Ending::Exited {
                        code: exit.code,
                        reason: exit.reason,
                    });
                }
                Ok(Some(event)) => {
                    let was_read = self.unread.is_none();
                    if let Err(failure) = self.write(event).await {
                        return Ok(Ending::Unwritable(failure));
                    }
                    if was_read && self.unread.is_some() {
                        if !is_ours {
                            return Ok(Ending::Unread);
                        }
                        tokio::spawn(tell_unread(Arc::clone(process)));
                    }
                }
                // The error of a broken connection does not tell why the sandbox ended.
                Ok(None) => return Ok(Ending::Lost),
                Err(error) if error.is(ErrorKind::SandboxEnded) => return Ok(Ending::Lost),
                Err(error) => return Ok(Ending::Silent(error.into())),
            }
        }
    }

    /// Writes the rest of escaped streams, and says that something was escaped.
    async fn end_escaped(&mut self) {
        let [stdout, stderr] = &mut self.escapers;
        // A failure is ignored, because the command has ended.
        if let Some(escaper) = stdout {
            let _ = write(&mut self.stdout, Stream::Stdout, &escaper.finish()).await;
        }
        if let Some(escaper) = stderr {
            let _ = write(&mut self.stderr, Stream::Stderr, &escaper.finish()).await;
        }
        let mut escapers = self.escapers.iter().flatten();
        if let Some(escaper) = escapers.find(|escaper| escaper.has_escaped()) {
            say_escaped(escaper, false);
        }
    }

    async fn write(&mut self, event: Event) -> Result<(), Failure> {
        let is_read = match event {
            Event::Stdout(bytes) => {
                let bytes = escaped(&mut self.escapers[0], bytes);
                write(&mut self.stdout, Stream::Stdout, &bytes).await?
            }
            Event::Stderr(bytes) => {
                let bytes = escaped(&mut self.escapers[1], bytes);
                write(&mut self.stderr, Stream::Stderr, &bytes).await?
            }
            _ => true,
        };
        if !is_read {
            self.unread
                .get_or_insert_with(|| Instant::now() + UNREAD_TIMEOUT);
        }
        if std::mem::take(&mut self.is_silent) {
            self.timeline.mark(Mark::FirstByte)?;
        }
        Ok(())
    }
}

/// Returns bytes in the form in which the stream gets them.
fn escaped(escaper: &mut Option<Escaper>, bytes: Bytes) -> Bytes {
    match escaper {
        Some(escaper) => escaper.escape(&bytes).into(),
        None => bytes,
    }
}

/// Writes to one of this process's streams. Returns true if it still has a reader.
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

/// Sends SIGPIPE to the command. A failure is ignored, because the command may have ended.
async fn tell_unread(process: Arc<Process>) {
    let _ = process.signal(SignalKind::pipe().as_raw_value()).await;
}

/// The keys that detach from a command, as in Docker.
#[derive(Debug, Default)]
struct LeaveKeys {
    /// True if Ctrl-P was typed and has not been passed on yet.
    is_begun: bool,
}

impl LeaveKeys {
    const BEGIN: u8 = 16;
    const END: u8 = 17;

    /// Returns the typed bytes that are passed on; `None` if they ask to detach.
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

/// Reads standard input to its end. Runs on its own thread, because such a read cannot be
/// cancelled.
fn read_stdin(sender: &mpsc::Sender<Bytes>, mut keys: Option<LeaveKeys>, leave: &mpsc::Sender<()>) {
    let mut stdin = io::stdin().lock();
    let mut chunk = vec![0; CHUNK_BYTES];
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

/// Sends input until it ends or the command reads no more.
async fn send_stdin(stdin: Stdin, mut pending: mpsc::Receiver<Bytes>) {
    while let Some(bytes) = pending.recv().await {
        if stdin.write(bytes).await.is_err() {
            return;
        }
    }
    // A command that has ended needs no end of its input.
    let _ = stdin.close().await;
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
