//! A command's output, read until it is complete.

use std::time::Duration;

use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::{Bytes, CHUNK_MAX_BYTES};
use tokio::io::AsyncReadExt as _;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::streams::Output;

/// The pause after which the output of a command that has ended is complete. Processes that the
/// command left running may hold its streams open indefinitely.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(100);

/// Sends a command's output until its stream is closed, or until the command has ended and no more output comes.
///
/// Everything that the command itself wrote is sent: it is there at its end, and the last read comes after the
/// pause. Time alone would not tell, because a machine that its host has stopped for a while finds the pause over
/// before it has read anything.
pub(super) async fn read(
    mut output: Output,
    chunks: mpsc::Sender<Event>,
    has_ended: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; CHUNK_MAX_BYTES];
    loop {
        let read = tokio::select! {
            biased;
            read = output.stream.read(&mut buffer) => read,
            () = silence(has_ended.clone()) => output.stream.read_now(&mut buffer),
        };
        let Ok(length) = read else {
            return;
        };
        let chunk = Bytes::copy_from_slice(&buffer[..length]);
        if length == 0 || chunks.send((output.event)(chunk)).await.is_err() {
            return;
        }
    }
}

/// Waits for the command's end, and for the pause after it.
async fn silence(mut has_ended: watch::Receiver<bool>) {
    // The sender is dropped when the host has disconnected, and then the output has no reader.
    let _ = has_ended.wait_for(|has_ended| *has_ended).await;
    sleep(SILENCE_TIMEOUT).await;
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;

    use super::*;
    use crate::descriptor::Descriptor;

    /// Returns the reader's end of a pipe as an output, and the writer's.
    fn pipe() -> (Output, std::io::PipeWriter) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let output = Output {
            stream: Descriptor::new(reader.into()).expect("it can be polled"),
            event: Event::Stdout,
        };
        (output, writer)
    }

    #[tokio::test]
    async fn a_machine_that_stood_still_loses_no_output() {
        let (output, mut writer) = pipe();
        let (chunks, mut sent) = mpsc::channel(1);
        let has_ended = watch::Sender::new(false);
        let reading = tokio::spawn(read(output, chunks, has_ended.subscribe()));
        has_ended.send_replace(true);
        // The reader has seen the end and nothing else.
        tokio::task::yield_now().await;
        writer.write_all(b"last words").expect("written");
        thread::sleep(3 * SILENCE_TIMEOUT);
        let words = Event::Stdout(Bytes::from_static(b"last words"));
        assert_eq!(sent.recv().await, Some(words));
        // The writer's end is open: the pause ends the output.
        assert_eq!(sent.recv().await, None);
        reading.await.expect("it has ended");
        drop(writer);
    }

    #[tokio::test]
    async fn a_command_that_runs_may_be_silent() {
        let (output, writer) = pipe();
        let (chunks, mut sent) = mpsc::channel(1);
        let has_ended = watch::Sender::new(false);
        tokio::spawn(read(output, chunks, has_ended.subscribe()));
        let silent = tokio::time::timeout(2 * SILENCE_TIMEOUT, sent.recv()).await;
        assert!(silent.is_err(), "the output has ended: {silent:?}");
        drop(writer);
        assert_eq!(sent.recv().await, None);
    }
}
