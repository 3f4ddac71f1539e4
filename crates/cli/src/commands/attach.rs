use std::io;

use anyhow::anyhow;
use msb_agent_protocol::v1::exit_status::Status;
use msb_agent_protocol::v1::{Exec, ExitStatus, Failure as Refusal, FailureKind};
use msb_agent_protocol::{Bytes, Client, ClientError, Control, Inputs, Output};
use tokio::io::{AsyncWriteExt as _, Stderr, Stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::{EXIT_MSB_FAILED, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, Failure};
use crate::terminal::{self, RawTerminal};

/// Starts a command in the sandbox and joins this process's streams and signals to it until it ends.
/// `None` when the sandbox ended first.
pub(crate) async fn attach(client: &mut Client, exec: Exec) -> Result<Option<u8>, Failure> {
    let has_terminal = exec.terminal.is_some();
    let wants_stdin = exec.stdin;
    let command = client.exec(exec).await.map_err(not_started)?;
    let raw = (has_terminal && terminal::stdin_is_terminal())
        .then(RawTerminal::enter)
        .transpose()?;
    if wants_stdin {
        let (sender, pending) = mpsc::channel(4);
        std::thread::spawn(move || read_stdin(&sender));
        tokio::spawn(send_stdin(command.inputs, pending));
    }
    tokio::spawn(forward_signals(command.control, has_terminal));
    let mut outputs = command.outputs;
    let mut streams = Streams {
        stdout: tokio::io::stdout(),
        stderr: tokio::io::stderr(),
    };
    let outcome = loop {
        match outputs.next().await {
            Ok(Some(output)) => match streams.handle(output).await {
                Ok(None) => {}
                Ok(Some(code)) => break Ok(Some(code)),
                Err(failure) => break Err(failure),
            },
            // How the connection broke says only how it was noticed.
            Ok(None) | Err(_) => break Ok(None),
        }
    };
    drop(raw);
    outcome
}

/// Where a command's output goes.
struct Streams {
    stdout: Stdout,
    stderr: Stderr,
}

impl Streams {
    /// Passes output on; gives the exit code once there is one.
    async fn handle(&mut self, output: Output) -> Result<Option<u8>, Failure> {
        match output {
            Output::Stdout(bytes) => {
                self.stdout.write_all(&bytes).await?;
                self.stdout.flush().await?;
            }
            Output::Stderr(bytes) => {
                self.stderr.write_all(&bytes).await?;
                self.stderr.flush().await?;
            }
            Output::Exited(status) => return Ok(Some(exit_code(status))),
        }
        Ok(None)
    }
}

/// As a shell has it: the command's own, or 128 and the signal that killed it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = match status.status {
        Some(Status::Code(code)) => code,
        Some(Status::Signal(signal)) => signal.saturating_add(128),
        None => u32::from(EXIT_MSB_FAILED),
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn not_started(error: ClientError) -> Failure {
    match error {
        ClientError::Refused(refusal) => refused(refusal),
        error => anyhow::Error::from(error)
            .context("cannot reach the sandbox")
            .into(),
    }
}

fn refused(refusal: Refusal) -> Failure {
    let exit_code = match refusal.kind() {
        FailureKind::CommandNotFound => EXIT_NOT_FOUND,
        FailureKind::CommandNotExecutable => EXIT_NOT_EXECUTABLE,
        FailureKind::BadRequest | FailureKind::Guest => EXIT_MSB_FAILED,
    };
    Failure::with_exit_code(anyhow!(refusal.message), exit_code)
}

/// Reads standard input to its end. A thread of its own: such a read cannot be cancelled.
fn read_stdin(sender: &mpsc::Sender<Bytes>) {
    let mut stdin = io::stdin().lock();
    let mut chunk = vec![0; msb_agent_protocol::CHUNK_MAX_BYTES];
    loop {
        match io::Read::read(&mut stdin, &mut chunk) {
            Ok(0) => return,
            Ok(length) => {
                let bytes = Bytes::copy_from_slice(&chunk[..length]);
                if sender.blocking_send(bytes).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
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
