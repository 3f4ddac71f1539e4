use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::accept_event::Event;
use msb_agent_protocol::v1::{AcceptEvent, Accepted as Reported, Accepting};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::sleep;

use super::Sockets;
use super::listener::Listener;
use super::waiting::Accepted;
use crate::exec::own_number;

/// The number of connections of one socket at a time, so that it leaves room for others.
const OF_SOCKET_MAX: usize = 64;
/// The pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl Sockets {
    /// Reports connections to the host until it does not listen any more. Processes wait while there is no room.
    pub(super) async fn report(
        &self,
        listener: &Listener,
        host: mpsc::Sender<Result<AcceptEvent, Status>>,
    ) {
        let of_socket = Arc::new(Semaphore::new(OF_SOCKET_MAX));
        let mut next = Event::Listening(Accepting {});
        loop {
            let event = AcceptEvent { event: Some(next) };
            if host.send(Ok(event)).await.is_err() {
                return;
            }
            let Some(room) = self.room(&of_socket).await else {
                return;
            };
            let stream = accepted(listener).await;
            let (uid, pid) = peer(&stream);
            let id = self.waiting.keep(Accepted { stream, room }, &host);
            next = Event::Accepted(Reported { id, uid, pid });
        }
    }

    /// Waits for room for a connection. `None` never comes, because nothing closes the semaphores.
    async fn room(&self, of_socket: &Arc<Semaphore>) -> Option<[OwnedSemaphorePermit; 2]> {
        let of_socket = of_socket.clone().acquire_owned().await.ok()?;
        let of_all = self.accepted.clone().acquire_owned().await.ok()?;
        Some([of_socket, of_all])
    }
}

/// Accepts a connection of the guest.
async fn accepted(listener: &Listener) -> UnixStream {
    loop {
        match listener.accept().await {
            Ok(stream) => return stream,
            // Too many open files, for instance.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Returns the user of the process that has connected, and its ID as the commands see it.
fn peer(stream: &UnixStream) -> (Option<u32>, Option<u32>) {
    let Ok(credentials) = stream.peer_cred() else {
        return (None, None);
    };
    let pid = credentials.pid().and_then(own_number);
    (Some(credentials.uid()), pid)
}
