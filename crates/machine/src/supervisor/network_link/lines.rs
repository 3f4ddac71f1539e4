//! The lines that the supervisor exchanges with the network's process.

use msb_network::{FromNetwork, MESSAGE_MAX_BYTES, ToNetwork, message_line, message_of_line};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};

use super::Outcome;
use crate::supervisor::questions::NetworkQuestions;

/// The longest reason why rules are not followed. A guest may have taken the process over that gives it.
pub(super) const ERROR_MAX_CHARS: usize = 1024;

/// Takes the messages of the network until its process is gone.
pub(super) async fn take(
    stream: OwnedReadHalf,
    mut questions: NetworkQuestions,
    outcomes: mpsc::Sender<Outcome>,
) {
    let mut lines = BufReader::new(stream);
    while let Some(message) = next(&mut lines).await {
        match message {
            FromNetwork::Asked { token, subject } => questions.ask(token, &subject),
            FromNetwork::Changed { number, error } => {
                let error = error.map(|text| text.chars().take(ERROR_MAX_CHARS).collect());
                // Without room, nothing waits for it.
                let _ = outcomes.try_send(Outcome { number, error });
            }
        }
    }
    questions.withdraw_all();
}

/// Reads the next message, and leaves lines out that are none; `None` at the end, and if a line is too long.
async fn next(lines: &mut BufReader<OwnedReadHalf>) -> Option<FromNetwork> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut rest = AsyncReadExt::take(&mut *lines, MESSAGE_MAX_BYTES);
        rest.read_until(b'\n', &mut line).await.ok()?;
        if !line.ends_with(b"\n") {
            return None;
        }
        if let Some(message) = message_of_line(&line) {
            return Some(message);
        }
    }
}

/// Sends messages to the network until its process is gone. Of the rules that wait for a slow process, only the newest are
/// sent.
pub(super) async fn send(
    mut stream: OwnedWriteHalf,
    mut messages: mpsc::Receiver<ToNetwork>,
    mut rules: watch::Receiver<Option<ToNetwork>>,
) {
    loop {
        let message = tokio::select! {
            message = messages.recv() => message,
            changed = rules.changed() => match changed {
                Ok(()) => rules.borrow_and_update().clone(),
                Err(_) => None,
            },
        };
        let Some(Ok(line)) = message.as_ref().map(message_line) else {
            return;
        };
        if stream.write_all(&line).await.is_err() {
            return;
        }
    }
}
