//! The connection with the supervisor: rules that change, questions, and their ends.

use std::sync::Arc;

use msb_tls_edge::Edge;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use crate::NetworkRules;
use crate::asks::Asks;
use crate::gate::Gate;
use crate::recorder::Recorder;
use crate::supervisor_messages::{
    FromNetwork, MESSAGE_MAX_BYTES, ToNetwork, message_line, message_of_line,
};

/// The parts of a network that the supervisor changes.
#[derive(Debug)]
pub(crate) struct Supervised {
    pub(crate) gate: Gate,
    pub(crate) asks: Asks,
    pub(crate) recorder: Recorder,
    /// `None` if no TLS is ended.
    pub(crate) edge: Option<Arc<Edge>>,
}

impl Supervised {
    /// Follows the supervisor at the other end of a stream, until it is gone.
    pub(crate) async fn follow(
        self,
        stream: UnixStream,
        messages: mpsc::Sender<FromNetwork>,
        sent: mpsc::Receiver<FromNetwork>,
    ) {
        let (read, write) = stream.into_split();
        tokio::select! {
            () = self.take(read, messages) => {}
            () = send(write, sent) => {}
        }
        self.asks.close();
    }

    async fn take(&self, stream: OwnedReadHalf, messages: mpsc::Sender<FromNetwork>) {
        let mut lines = BufReader::new(stream);
        while let Some(message) = next(&mut lines).await {
            match message {
                ToNetwork::Told { token, told } => self.asks.tell(token, told),
                ToNetwork::Rules {
                    number,
                    rules,
                    closes,
                } => {
                    let error = self.follow_rules(&rules, closes).err();
                    let changed = FromNetwork::Changed { number, error };
                    if messages.send(changed).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Follows other rules, or none of them.
    fn follow_rules(&self, rules: &NetworkRules, closes: bool) -> Result<(), String> {
        rules.check_size().map_err(|error| error.to_string())?;
        match (&self.edge, rules.requests.first()) {
            (Some(edge), _) => {
                let requests = rules.requests.clone();
                let set = edge.set_requests(requests);
                set.map_err(|error| error.to_string())?;
            }
            (None, Some(request)) => return Err(not_ended(&request.host.to_string())),
            (None, None) => {}
        }
        let before = self.gate.policy().rules();
        self.gate.follow(rules, closes);
        self.recorder.change_rules(&before, rules);
        Ok(())
    }
}

fn not_ended(host: &str) -> String {
    format!(
        "the sandbox does not end the TLS of {host}: the hosts of secrets and of rules for requests are fixed at its \
         creation"
    )
}

/// Reads a message; `None` at the end, and if the other side sends something else.
async fn next(lines: &mut BufReader<OwnedReadHalf>) -> Option<ToNetwork> {
    let mut line = Vec::new();
    let mut lines = lines.take(MESSAGE_MAX_BYTES);
    lines.read_until(b'\n', &mut line).await.ok()?;
    message_of_line(&line)
}

/// Sends messages until the supervisor is gone.
async fn send(mut stream: OwnedWriteHalf, mut messages: mpsc::Receiver<FromNetwork>) {
    while let Some(message) = messages.recv().await {
        let Ok(line) = message_line(&message) else {
            return;
        };
        if stream.write_all(&line).await.is_err() {
            return;
        }
    }
}
