//! The connections with the processes of shares that have rules: their questions, the answers, and rules that change.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::ChangeRuleRequest;
use path_rules::Rule;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::questions::{Questions, ShareQuestions};
use crate::share_messages::{FromShare, LINE_MAX_BYTES, ToShare, decode, encode};
use crate::share_process::ShareConnection;

/// The messages that wait for the process of a share: more than the questions that can wait in it.
const PENDING: usize = 256;
/// The outcomes of changed rules that wait to be read. One of them is waited for at a time.
const PENDING_CHANGES: usize = 4;
/// The time in which the process of a share follows a rule: it may be busy with a file of a slow disk.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The processes of a machine's shares that have rules. Clones share the connections.
#[derive(Debug, Clone, Default)]
pub(super) struct ShareLinks(Arc<Vec<ShareLink>>);

/// The process of a share that has rules.
#[derive(Debug)]
struct ShareLink {
    /// The paths in the sandbox of the directories that have rules.
    targets: Vec<String>,
    messages: mpsc::Sender<ToShare>,
    /// Held while a rule is changed.
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

impl ShareLinks {
    /// Takes the questions of shares from now on.
    ///
    /// # Errors
    /// If a connection cannot be used.
    pub(super) fn open(
        connections: Vec<ShareConnection>,
        questions: &Questions,
    ) -> io::Result<Self> {
        let links = connections
            .into_iter()
            .map(|connection| ShareLink::open(connection, questions));
        Ok(Self(Arc::new(links.collect::<io::Result<_>>()?)))
    }

    /// Has the process of a share follow a rule, from the next request of the guest on.
    pub(super) async fn change_rule(&self, request: ChangeRuleRequest) -> Result<(), Status> {
        let rule = Rule::parse(&request.rule);
        let rule = rule.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let has_target = |link: &&ShareLink| link.targets.contains(&request.target);
        let link = self.0.iter().find(has_target).ok_or_else(|| {
            let target = &request.target;
            Status::not_found(format!("no directory with rules is shared at '{target}'"))
        })?;
        link.change_rule(request.target, rule).await
    }
}

impl ShareLink {
    fn open(connection: ShareConnection, questions: &Questions) -> io::Result<Self> {
        connection.stream.set_nonblocking(true)?;
        let (read, write) = UnixStream::from_std(connection.stream)?.into_split();
        let (messages, outgoing) = mpsc::channel(PENDING);
        let (outcome, outcomes) = mpsc::channel(PENDING_CHANGES);
        let asked = questions.of_share(messages.clone());
        tokio::spawn(take(read, asked, outcome));
        tokio::spawn(send(write, outgoing));
        Ok(Self {
            targets: connection.targets,
            messages,
            changes: Mutex::new(Changes { last: 0, outcomes }),
        })
    }

    async fn change_rule(&self, target: String, rule: Rule) -> Result<(), Status> {
        let mut changes = self.changes.lock().await;
        changes.last += 1;
        let number = changes.last;
        let message = ToShare::Rule {
            number,
            target,
            rule,
        };
        let gone = || Status::unavailable("the process of the shared directory has ended");
        let sent = timeout(CHANGE_TIMEOUT, self.messages.send(message)).await;
        let late = |_| Status::deadline_exceeded("the process of the shared directory is busy");
        sent.map_err(late)?.map_err(|_| gone())?;
        let followed = async {
            loop {
                let outcome = changes.outcomes.recv().await.ok_or_else(gone)?;
                // The others are of calls that did not wait.
                if outcome.number == number {
                    return outcome
                        .error
                        .map_or(Ok(()), |error| Err(Status::failed_precondition(error)));
                }
            }
        };
        timeout(CHANGE_TIMEOUT, followed).await.map_err(late)?
    }
}

/// Takes the messages of a share until its process is gone.
async fn take(stream: OwnedReadHalf, questions: ShareQuestions, outcomes: mpsc::Sender<Outcome>) {
    let mut lines = BufReader::new(stream);
    while let Some(message) = next(&mut lines).await {
        match message {
            FromShare::Asked { token, kind, path } => questions.ask(token, kind, &path),
            FromShare::Withdrawn { token } => questions.withdraw(token),
            FromShare::Refused { kind, path, rule } => questions.refused(kind, &path, &rule),
            FromShare::Changed { number, error } => {
                // Without room, nobody waits for it.
                let _ = outcomes.try_send(Outcome { number, error });
            }
        }
    }
    questions.withdraw_all();
}

/// Reads a message; `None` at the end, and if the process sends something else.
async fn next(lines: &mut BufReader<OwnedReadHalf>) -> Option<FromShare> {
    let mut line = Vec::new();
    let mut lines = lines.take(LINE_MAX_BYTES);
    lines.read_until(b'\n', &mut line).await.ok()?;
    decode(&line)
}

/// Sends messages to a share until its process is gone.
async fn send(mut stream: OwnedWriteHalf, mut messages: mpsc::Receiver<ToShare>) {
    while let Some(message) = messages.recv().await {
        let Ok(line) = encode(&message) else { return };
        if stream.write_all(&line).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
