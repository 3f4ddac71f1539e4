//! Running a command for the host.

mod accounts;
mod environment;
mod process;
mod program;
mod signals;

use std::time::Duration;

use msb_agent_protocol::{
    CHUNK_MAX_BYTES, Event, Exec, ExitStatus, FrameError, FrameReader, FrameWriter, Input, Stream,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::descriptor::Descriptor;
use crate::reaper::Reaper;
use process::{Output, Process};

/// How long output may pause after the command has ended before it is taken to be complete: what
/// the command left running may hold its streams open for ever.
const SILENCE_LIMIT: Duration = Duration::from_millis(100);
/// Chunks of output that wait for the host; beyond them the command waits.
const PENDING_CHUNKS: usize = 4;

/// Runs a command and tells the host what becomes of it. A host that hangs up kills it.
pub(crate) async fn run(
    request: &Exec,
    reader: FrameReader<ReadHalf<Stream>>,
    writer: &mut FrameWriter<WriteHalf<Stream>>,
    reaper: &Reaper,
) -> Result<(), FrameError> {
    let process = match process::spawn(request) {
        Ok(process) => process,
        Err(failure) => return writer.send(&Event::Failed(failure)).await,
    };
    let Process {
        pid,
        inputs,
        outputs,
    } = process;
    let ended = reaper.wait_for(pid);
    let group = signals::Group::of(pid);
    let (chunks, pending) = mpsc::channel(PENDING_CHUNKS);
    for output in outputs {
        tokio::task::spawn_local(read_output(output, chunks.clone()));
    }
    drop(chunks);
    let taking = tokio::task::spawn_local(take_input(reader, inputs, group));
    let sent = send_events(pid, writer, pending, ended).await;
    taking.abort();
    if sent.is_err() {
        group.kill();
    }
    sent
}

/// Passes the command's output on until it has ended and nothing more comes, then says how.
async fn send_events(
    pid: i32,
    writer: &mut FrameWriter<WriteHalf<Stream>>,
    mut pending: mpsc::Receiver<Event>,
    mut ended: oneshot::Receiver<ExitStatus>,
) -> Result<(), FrameError> {
    writer
        .send(&Event::Started {
            pid: pid.unsigned_abs(),
        })
        .await?;
    let mut open = true;
    let status = loop {
        tokio::select! {
            chunk = pending.recv(), if open => match chunk {
                Some(chunk) => writer.send(&chunk).await?,
                None => open = false,
            },
            status = &mut ended => break status,
        }
    };
    while let Ok(Some(chunk)) = timeout(SILENCE_LIMIT, pending.recv()).await {
        writer.send(&chunk).await?;
    }
    // The reaper gives every status away before it goes, so a lost one means that PID 1 ends.
    writer
        .send(&Event::Exited(status.unwrap_or(ExitStatus::Signal(9))))
        .await
}

async fn read_output(mut output: Output, chunks: mpsc::Sender<Event>) {
    let mut buffer = vec![0; CHUNK_MAX_BYTES];
    while let Ok(length) = output.stream.read(&mut buffer).await {
        if length == 0
            || chunks
                .send((output.event)(buffer[..length].to_vec()))
                .await
                .is_err()
        {
            return;
        }
    }
}

/// Carries out what the host sends while the command runs. When the host is gone, so is the
/// command.
async fn take_input(
    mut reader: FrameReader<ReadHalf<Stream>>,
    inputs: process::Inputs,
    group: signals::Group,
) {
    let process::Inputs { stdin, terminal } = inputs;
    let (sender, pending) = mpsc::channel(PENDING_CHUNKS);
    let is_terminal = terminal.is_some();
    tokio::task::spawn_local(write_stdin(stdin, pending, is_terminal));
    let mut sender = Some(sender);
    loop {
        match reader.next::<Input>().await {
            Ok(Some(Input::Stdin(bytes))) => {
                if let Some(stdin) = &sender {
                    // A command that closed its standard input wants no more of it.
                    let _ = stdin.send(bytes).await;
                }
            }
            Ok(Some(Input::StdinEnd)) => sender = None,
            Ok(Some(Input::Resize(size))) => {
                if let Some(terminal) = &terminal {
                    terminal.resize(size);
                }
            }
            Ok(Some(Input::Signal(number))) => group.signal(number),
            Ok(None) | Err(_) => break,
        }
    }
    group.kill();
}

async fn write_stdin(
    stdin: Option<Descriptor>,
    mut pending: mpsc::Receiver<Vec<u8>>,
    is_terminal: bool,
) {
    let Some(mut stdin) = stdin else { return };
    while let Some(bytes) = pending.recv().await {
        if stdin.write_all(&bytes).await.is_err() {
            return;
        }
    }
    if is_terminal {
        // A terminal has no end to close; this is how a user types one.
        let _ = stdin.write_all(&[process::END_OF_TRANSMISSION]).await;
    }
}
