use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::accept_event::Event;
use msb_agent_protocol::v1::{AcceptEvent, Accepted as Reported, Accepting};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::sleep;

use super::listener::Listener;
use super::waiting::Accepted;
use super::{Closing, Sockets};
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
        closing: &Closing,
    ) {
        let of_socket = Arc::new(Semaphore::new(OF_SOCKET_MAX));
        let mut next = Event::Listening(Accepting {});
        loop {
            let event = AcceptEvent { event: Some(next) };
            if host.send(Ok(event)).await.is_err() {
                return;
            }
            // The room is that of a connection: a listener that nothing connects to takes none.
            let stream = accepted(listener).await;
            let Some(room) = self.room(&of_socket).await else {
                return;
            };
            let (uid, pid) = peer(&stream);
            let accepted = Accepted { stream, room };
            let id = self.waiting.keep(accepted, &host, closing);
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

#[cfg(test)]
mod tests {
    use msb_agent_protocol::v1::AcceptRequest;
    use rustix::process::{getgid, getuid};
    use tokio::sync::watch;

    use super::super::{ACCEPTED_MAX, listener};
    use super::*;

    #[tokio::test]
    async fn a_listener_takes_room_only_for_a_connection() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let request = AcceptRequest {
            path: path.to_str().expect("text").to_owned().into(),
            owner: format!("{}:{}", getuid().as_raw(), getgid().as_raw()),
            mode: None,
            parents: false,
        };
        let listener = listener::listen(request).await.expect("listening");
        let sockets = Sockets::new();
        let (host, mut events) = mpsc::channel(1);
        let closings = watch::Sender::new(());
        let reporting = {
            let (sockets, closing) = (sockets.clone(), closings.subscribe());
            tokio::spawn(async move { sockets.report(&listener, host, &closing).await })
        };
        events.recv().await.expect("listening").expect("no error");
        // The next step of the report is to wait for a connection.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        assert_eq!(sockets.accepted.available_permits(), ACCEPTED_MAX);
        let _process = UnixStream::connect(&path).await.expect("connected");
        events.recv().await.expect("accepted").expect("no error");
        assert_eq!(sockets.accepted.available_permits(), ACCEPTED_MAX - 1);
        reporting.abort();
    }
}
