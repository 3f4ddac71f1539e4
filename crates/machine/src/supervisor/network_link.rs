//! The connection with the network's process: its questions, the answers, and rules that change.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::ChangeNetworkRequest;
use msb_network::{
    DefaultPolicy, FromNetwork, MESSAGE_MAX_BYTES, NetworkRules, ToNetwork, message_line,
    message_of_line,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::questions::{NetworkQuestions, Questions};

/// The messages that wait for the network's process: more than the questions that can wait in it.
const PENDING: usize = 64;
/// The outcomes of changed rules that wait to be read. One of them is waited for at a time.
const PENDING_CHANGES: usize = 4;
/// The time in which the network's process follows rules. It does nothing that waits.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest reason why rules are not followed. A guest may have taken the process over that gives it.
const ERROR_MAX_CHARS: usize = 1024;

/// The process of a machine's network, if it has one. Clones share the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct NetworkLink(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    messages: mpsc::Sender<ToNetwork>,
    /// Held while rules are changed.
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    /// The number of the last change.
    last: u64,
    outcomes: mpsc::Receiver<Outcome>,
}

/// The outcome of the change with this number.
#[derive(Debug)]
struct Outcome {
    number: u64,
    error: Option<String>,
}

impl NetworkLink {
    /// Takes the questions of the network from now on.
    ///
    /// # Errors
    /// If the connection cannot be used.
    pub(super) fn open(
        connection: Option<StdUnixStream>,
        questions: &Questions,
    ) -> io::Result<Self> {
        let Some(stream) = connection else {
            return Ok(Self::default());
        };
        stream.set_nonblocking(true)?;
        let (read, write) = UnixStream::from_std(stream)?.into_split();
        let (messages, outgoing) = mpsc::channel(PENDING);
        let (outcome, outcomes) = mpsc::channel(PENDING_CHANGES);
        let asked = questions.of_network(messages.clone());
        tokio::spawn(take(read, asked, outcome));
        tokio::spawn(send(write, outgoing));
        let changes = Mutex::new(Changes { last: 0, outcomes });
        Ok(Self(Some(Arc::new(Link { messages, changes }))))
    }

    /// Has the network follow other rules, from the next connection on.
    pub(super) async fn change_rules(&self, request: &ChangeNetworkRequest) -> Result<(), Status> {
        let rules = rules(request)?;
        let link = self.0.as_ref();
        let link = link.ok_or_else(|| Status::failed_precondition("the sandbox has no network"))?;
        link.change_rules(rules, request.closes).await
    }
}

impl Link {
    async fn change_rules(&self, rules: NetworkRules, closes: bool) -> Result<(), Status> {
        let mut changes = self.changes.lock().await;
        changes.last += 1;
        let number = changes.last;
        let message = ToNetwork::Rules {
            number,
            rules,
            closes,
        };
        let gone = || Status::unavailable("the sandbox's network process has ended");
        let late = |_| Status::deadline_exceeded("the sandbox's network process is busy");
        let sent = timeout(CHANGE_TIMEOUT, self.messages.send(message)).await;
        sent.map_err(late)?.map_err(|_| gone())?;
        let followed = async {
            loop {
                let outcome = changes.outcomes.recv().await.ok_or_else(gone)?;
                // The others are of calls that did not wait.
                if outcome.number == number {
                    return outcome
                        .error
                        .map_or(Ok(()), |error| Err(Status::invalid_argument(error)));
                }
            }
        };
        timeout(CHANGE_TIMEOUT, followed).await.map_err(late)?
    }
}

fn rules(request: &ChangeNetworkRequest) -> Result<NetworkRules, Status> {
    let reach = match request.mode.as_str() {
        "outbound" => DefaultPolicy::Outbound,
        "listed" => DefaultPolicy::Listed,
        _ => return Err(Status::invalid_argument("the mode is unknown")),
    };
    let rules = NetworkRules::parse(reach, &request.allow, &request.deny);
    let rules = rules.and_then(|rules| rules.check_size().map(|()| rules));
    rules.map_err(|error| Status::invalid_argument(error.to_string()))
}

/// Takes the messages of the network until its process is gone.
async fn take(stream: OwnedReadHalf, questions: NetworkQuestions, outcomes: mpsc::Sender<Outcome>) {
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

/// Reads a message; `None` at the end, and if the process sends something else.
async fn next(lines: &mut BufReader<OwnedReadHalf>) -> Option<FromNetwork> {
    let mut line = Vec::new();
    let mut lines = lines.take(MESSAGE_MAX_BYTES);
    lines.read_until(b'\n', &mut line).await.ok()?;
    message_of_line(&line)
}

/// Sends messages to the network until its process is gone.
async fn send(mut stream: OwnedWriteHalf, mut messages: mpsc::Receiver<ToNetwork>) {
    while let Some(message) = messages.recv().await {
        let Ok(line) = message_line(&message) else {
            return;
        };
        if stream.write_all(&line).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
