//! Sockets of the guest, for the host: connections to them, and listeners on them.
//!
//! Paths are those that commands see. All connections end before the root is unmounted, which they would keep in use.

mod accept;
mod carry;
mod dial;
mod listener;
mod waiting;

use std::sync::{Arc, LazyLock};

use msb_agent_protocol::v1::{
    AcceptEvent, AcceptRequest, ConnectEvent, ConnectInput, ConnectStart, connect_start,
};
use msb_agent_protocol::{Status, Streaming};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

use crate::exec::Running;
use crate::files::Answers;
use carry::Host;
use waiting::Waiting;

/// The number of connections at a time that the host has opened. With those below it leaves room for other calls on
/// the agent's connection, which has at most 256.
const DIALLED_MAX: usize = 96;
/// The number of connections at a time that processes have opened.
const ACCEPTED_MAX: usize = 96;
/// The number of sockets that the host listens on at a time.
const LISTENERS_MAX: usize = 16;
/// The number of events that may wait for the host.
const PENDING_EVENTS: usize = 2;

/// Changes when all sockets are to be closed.
static CLOSING: LazyLock<watch::Sender<()>> = LazyLock::new(|| watch::Sender::new(()));

/// The sockets that the host uses. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Sockets {
    dialled: Arc<Semaphore>,
    accepted: Arc<Semaphore>,
    listeners: Arc<Semaphore>,
    waiting: Waiting,
}

/// Closes all sockets, before the root is unmounted.
pub(crate) fn close() {
    CLOSING.send_replace(());
}

/// Runs work until it ends, the host cancels its call, or all sockets are closed. Returns true after a cancellation.
fn until_closed<T>(
    work: impl Future<Output = ()>,
    host: mpsc::Sender<T>,
) -> impl Future<Output = bool> {
    let mut closing = CLOSING.subscribe();
    async move {
        tokio::select! {
            () = work => false,
            () = host.closed() => true,
            _ = closing.changed() => false,
        }
    }
}

impl Sockets {
    pub(crate) fn new() -> Self {
        Self {
            dialled: Arc::new(Semaphore::new(DIALLED_MAX)),
            accepted: Arc::new(Semaphore::new(ACCEPTED_MAX)),
            listeners: Arc::new(Semaphore::new(LISTENERS_MAX)),
            waiting: Waiting::default(),
        }
    }

    /// Connects to a socket, and carries its bytes.
    pub(crate) fn connect(
        &self,
        start: ConnectStart,
        inputs: Streaming<ConnectInput>,
    ) -> Result<Answers<ConnectEvent>, Status> {
        let room = self.dialled.clone().try_acquire_owned();
        let room = room.map_err(|_| too_many(DIALLED_MAX, "connections"))?;
        let (sender, events) = mpsc::channel(PENDING_EVENTS);
        let host = Host(sender.clone());
        let work = async move {
            let _room = room;
            match dial::dial(start).await {
                Ok(dial::Socket::Tcp(stream)) => carry::carry(stream, inputs, &host).await,
                Ok(dial::Socket::Unix(stream)) => carry::carry(stream, inputs, &host).await,
                Err(failure) => host.fail(failure).await,
            }
        };
        tokio::spawn(until_closed(work, sender));
        Ok(ReceiverStream::new(events))
    }

    /// Carries the bytes of a connection that was accepted.
    pub(crate) fn carry(
        &self,
        start: &ConnectStart,
        inputs: Streaming<ConnectInput>,
    ) -> Result<Answers<ConnectEvent>, Status> {
        let Some(connect_start::Target::Accepted(id)) = start.target else {
            return Err(Status::invalid_argument(
                "the target is no accepted connection",
            ));
        };
        let accepted = self.waiting.take(id);
        let accepted =
            accepted.ok_or_else(|| Status::not_found(format!("connection {id} was closed")))?;
        let (sender, events) = mpsc::channel(PENDING_EVENTS);
        let host = Host(sender.clone());
        let work = async move {
            let _room = accepted.room;
            carry::carry(accepted.stream, inputs, &host).await;
        };
        tokio::spawn(until_closed(work, sender));
        Ok(ReceiverStream::new(events))
    }

    /// Listens on a socket, and reports the connections of processes.
    pub(crate) async fn accept(
        &self,
        request: AcceptRequest,
        running: &Running,
    ) -> Result<Answers<AcceptEvent>, Status> {
        let room = self.listeners.clone().try_acquire_owned();
        let room = room.map_err(|_| too_many(LISTENERS_MAX, "sockets that the host listens on"))?;
        let listener = listener::listen(request).await?;
        if let Some(reason) = running.refusal() {
            return Err(Status::unavailable(reason));
        }
        let (sender, events) = mpsc::channel(PENDING_EVENTS);
        let (sockets, running) = (self.clone(), running.clone());
        tokio::spawn(async move {
            let _room = room;
            let work = sockets.report(&listener, sender.clone());
            let is_cancelled = until_closed(work, sender).await;
            // After an unmount the file is gone, or out of reach.
            if is_cancelled && !running.is_closed() {
                listener.remove().await;
            }
        });
        Ok(ReceiverStream::new(events))
    }
}

fn too_many(limit: usize, objects: &str) -> Status {
    Status::resource_exhausted(format!("the guest's agent has {limit} {objects} open"))
}
