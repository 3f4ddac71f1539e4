//! The connection with the network's process: its questions, the answers, and rules that change.

mod kept;
mod lines;

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::ChangeNetworkRequest;
use msb_network::{DefaultPolicy, NetworkRules, ToNetwork};
use tokio::net::UnixStream;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::timeout;

pub(super) use kept::KeepEvents;

use super::questions::Questions;

/// The answers that wait for the network's process: more than the questions that can wait in it.
const PENDING: usize = 64;
/// The outcomes of changed rules that wait to be read. One of them is waited for at a time.
const PENDING_CHANGES: usize = 4;
/// The time in which the network's process follows rules. It does nothing that waits.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The process of a machine's network, if it has one. Clones share the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct NetworkLink(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    /// The rules for the process. Those that it has not been sent when newer ones come are never sent.
    rules: watch::Sender<Option<ToNetwork>>,
    /// Held while rules are changed.
    changes: Mutex<Changes>,
    /// The path of the sandbox's description.
    description: PathBuf,
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
    /// Takes the questions of the network from now on. The sandbox's rules are kept in the file `description`.
    ///
    /// # Errors
    /// If the connection cannot be used.
    pub(super) fn open(
        connection: Option<StdUnixStream>,
        questions: &Questions,
        description: PathBuf,
    ) -> io::Result<Self> {
        let Some(stream) = connection else {
            return Ok(Self::default());
        };
        stream.set_nonblocking(true)?;
        let (read, write) = UnixStream::from_std(stream)?.into_split();
        let (messages, outgoing) = mpsc::channel(PENDING);
        let (outcome, outcomes) = mpsc::channel(PENDING_CHANGES);
        let (rules, newest) = watch::channel(None);
        tokio::spawn(lines::take(read, questions.of_network(messages), outcome));
        tokio::spawn(lines::send(write, outgoing, newest));
        Ok(Self(Some(Arc::new(Link {
            rules,
            changes: Mutex::new(Changes { last: 0, outcomes }),
            description,
        }))))
    }

    /// Has the network follow other rules, from the next connection on.
    pub(super) async fn change_rules(&self, request: &ChangeNetworkRequest) -> Result<(), Status> {
        let rules = rules(request)?;
        let link = self.link()?;
        let mut changes = link.changes.lock().await;
        link.follow(&mut changes, rules, request.closes).await
    }

    fn link(&self) -> Result<&Arc<Link>, Status> {
        let link = self.0.as_ref();
        link.ok_or_else(|| Status::failed_precondition("the sandbox has no network"))
    }
}

impl Link {
    /// Has the network follow rules. Returns once it does.
    async fn follow(
        &self,
        changes: &mut Changes,
        rules: NetworkRules,
        closes: bool,
    ) -> Result<(), Status> {
        changes.last += 1;
        let number = changes.last;
        let message = ToNetwork::Rules {
            number,
            rules,
            closes,
        };
        let gone = || Status::unavailable("the sandbox's network process has ended");
        let late = |_| Status::deadline_exceeded("the sandbox's network process is busy");
        self.rules.send(Some(message)).map_err(|_| gone())?;
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

#[cfg(test)]
mod tests;
