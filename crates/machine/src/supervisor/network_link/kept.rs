//! Rules that a client keeps with the sandbox and that the machine follows, in one step.
//!
//! The client writes them, because a process that a guest may take over has no right to the description. It can be killed
//! between any two of its steps, so it announces the rules before, and the supervisor looks at the end whether the
//! description was replaced: it can read its attributes, and nothing else of it.

use std::sync::Arc;
use std::time::Duration;

use durable_files::FileState;
use msb_agent_protocol::v1::{
    ChangeNetworkRequest, KeepNetworkEvent, KeepNetworkInput, NetworkFollowed, NetworkReady,
    keep_network_event, keep_network_input,
};
use msb_agent_protocol::{Status, Streaming};
use msb_network::NetworkRules;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;

use super::{Link, NetworkLink, rules};

/// The time in which a client writes the description, a small file. One that takes longer hears of an error, and keeps the
/// former rules.
const KEEP_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of events of a call, all of which have room in its channel.
const EVENTS: usize = 2;

pub(in crate::supervisor) type KeepEvents = ReceiverStream<Result<KeepNetworkEvent, Status>>;

impl NetworkLink {
    /// Follows rules once a client has kept them. The call goes on if the client is gone.
    pub(in crate::supervisor) fn keep_rules(
        &self,
        request: &ChangeNetworkRequest,
        inputs: Streaming<KeepNetworkInput>,
    ) -> Result<KeepEvents, Status> {
        let rules = rules(request)?;
        let (link, closes) = (Arc::clone(self.link()?), request.closes);
        let (sender, events) = mpsc::channel(EVENTS);
        tokio::spawn(async move {
            let ready = || {
                // There is room for all events; a client that is gone needs none.
                let _ =
                    sender.try_send(Ok(event(keep_network_event::Event::Ready(NetworkReady {}))));
            };
            let followed = link
                .follow_kept(rules, closes, ready, is_kept(inputs))
                .await;
            let followed =
                followed.map(|()| event(keep_network_event::Event::Followed(NetworkFollowed {})));
            let _ = sender.try_send(followed);
        });
        Ok(ReceiverStream::new(events))
    }
}

impl Link {
    /// Calls `ready`, and follows the rules if `is_kept` says that they are kept, or the description was replaced
    /// meanwhile.
    pub(super) async fn follow_kept(
        &self,
        rules: NetworkRules,
        closes: bool,
        ready: impl FnOnce(),
        is_kept: impl Future<Output = bool>,
    ) -> Result<(), Status> {
        // No other client begins before the end of this one.
        let mut changes = self.changes.lock().await;
        let description = || FileState::read(&self.description).ok();
        let before = description();
        ready();
        let is_kept = timeout(KEEP_TIMEOUT, is_kept).await.unwrap_or(false);
        if !is_kept && description() == before {
            return Err(Status::aborted("the rules were not kept"));
        }
        self.follow(&mut changes, rules, closes).await
    }
}

/// Waits until a client says that it has kept the rules. Returns false if it is gone.
async fn is_kept(mut inputs: Streaming<KeepNetworkInput>) -> bool {
    let input = inputs.message().await.ok().flatten();
    let input = input.and_then(|input| input.input);
    matches!(input, Some(keep_network_input::Input::Kept(_)))
}

const fn event(event: keep_network_event::Event) -> KeepNetworkEvent {
    KeepNetworkEvent { event: Some(event) }
}
