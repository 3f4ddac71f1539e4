//! The delivery of events to containerd.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use containerd_protocol::Empty;
use containerd_protocol::events::{Envelope, FORWARD, ForwardRequest, SERVICE};
use containerd_protocol::task::NAMESPACE_METADATA;
use tokio::net::UnixStream;
use ttrpc::{CallError, CallOptions, Client, Code};

use super::EventQueue;
use crate::Log;

/// The time that containerd may take for an event.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the first failure. It doubles with each further one.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest pause. An exit that happened while containerd was away is reported at most so late.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The delivery of events to containerd, one after the other, for as long as it takes.
pub(crate) struct Publisher {
    queue: Arc<EventQueue>,
    socket: PathBuf,
    log: Log,
}

impl Publisher {
    /// Returns the delivery to the ttrpc service of containerd at `socket`.
    pub(crate) fn new(queue: Arc<EventQueue>, socket: &Path, log: Log) -> Self {
        Self {
            queue,
            socket: socket.to_owned(),
            log,
        }
    }

    /// Delivers events until it is dropped.
    pub(crate) async fn run(self) {
        let mut client = None;
        let mut pause = PAUSE_MIN;
        loop {
            let (number, event) = self.queue.oldest().await;
            match self.forward(&mut client, &event).await {
                Ok(()) => {
                    self.queue.taken(number);
                    pause = PAUSE_MIN;
                }
                Err(Failure::Refused(reason)) => {
                    let topic = &event.topic;
                    self.log
                        .warn(&format!("containerd refused an event of {topic}: {reason}"));
                    self.queue.taken(number);
                }
                // containerd is being restarted, or is busy: the event stays the first.
                Err(Failure::Unreached) => {
                    client = None;
                    tokio::time::sleep(pause).await;
                    pause = PAUSE_MAX.min(pause * 2);
                }
            }
        }
    }

    async fn forward(&self, client: &mut Option<Client>, event: &Envelope) -> Result<(), Failure> {
        if client.as_ref().is_none_or(Client::is_closed) {
            let stream = UnixStream::connect(&self.socket).await;
            *client = Some(Client::new(stream.map_err(|_| Failure::Unreached)?));
        }
        let client = client.as_ref().ok_or(Failure::Unreached)?;
        let mut options = CallOptions {
            timeout: Some(FORWARD_TIMEOUT),
            ..CallOptions::default()
        };
        options
            .metadata
            .insert(NAMESPACE_METADATA, &event.namespace);
        let request = ForwardRequest {
            envelope: Some(event.clone()),
        };
        match client.call(SERVICE, FORWARD, &request, &options).await {
            Ok(Empty {}) => Ok(()),
            Err(CallError::Status(status)) if is_final(status.code()) => {
                Err(Failure::Refused(status.to_string()))
            }
            Err(CallError::TooLong(bytes)) => {
                Err(Failure::Refused(format!("it has {bytes} bytes")))
            }
            Err(_) => Err(Failure::Unreached),
        }
    }
}

/// An event was not delivered.
enum Failure {
    /// It never will be, for this reason.
    Refused(String),
    /// It has to be sent again.
    Unreached,
}

/// Returns true if containerd answers the same event so each time.
fn is_final(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument | Code::Unimplemented | Code::PermissionDenied
    )
}
