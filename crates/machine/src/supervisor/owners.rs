use std::io;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use crate::log::log_line;

/// The owners of the sandbox. Clones share their state.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    count: Mutex<usize>,
    /// The grace of the last owner, once it is gone without having released the sandbox.
    lost: watch::Sender<Option<Duration>>,
}

impl Owners {
    /// Adds an owner. `grace` is the time that processes have to end themselves if it is the last.
    pub(super) fn add(&self, grace: Duration) -> Owner {
        *self.count() += 1;
        Owner {
            owners: self.clone(),
            grace,
            is_released: false,
        }
    }

    /// Waits until the last owner is gone without having released the sandbox. Returns its grace.
    pub(super) async fn lost(&self) -> Duration {
        let mut lost = self.0.lost.subscribe();
        // The sender lives as long as `self`.
        let grace = lost.wait_for(Option::is_some).await;
        grace.ok().and_then(|grace| *grace).unwrap_or_default()
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.0.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An owner. Dropping it means that its client is gone.
#[derive(Debug)]
pub(super) struct Owner {
    owners: Owners,
    grace: Duration,
    is_released: bool,
}

impl Owner {
    /// Removes an owner that lets the sandbox run on.
    pub(super) fn release(mut self) {
        self.is_released = true;
    }

    /// Replaces the time that processes have to end themselves if this owner is the last.
    pub(super) const fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut count = self.owners.count();
        *count -= 1;
        if *count == 0 && !self.is_released {
            self.owners.0.lost.send_replace(Some(self.grace));
        }
    }
}

/// The connection of the client that started the machine and is to own it. The client connected
/// before it spawned this process, and makes the call once the guest is up.
#[derive(Debug)]
pub(super) struct StartingClient {
    pub(super) stream: UnixStream,
    pub(super) owner: Owner,
}

impl StartingClient {
    /// Accepts the first connection, which is the starting client's.
    pub(super) async fn accept(listener: &UnixListener, owner: Owner) -> io::Result<Self> {
        let (stream, _) = listener.accept().await?;
        Ok(Self { stream, owner })
    }

    /// Waits until the client is gone. Never returns if there is no such client, or if it has sent
    /// something: the end of its connection is then noticed while it is served.
    pub(super) async fn hung_up(client: Option<&Self>) {
        let is_gone = match client {
            Some(client) => is_closed(&client.stream).await,
            None => false,
        };
        if !is_gone {
            std::future::pending::<()>().await;
        }
    }
}

/// Ends this process, and the machine with it, because its only owner was gone before the guest was
/// up. No command has run, so nothing has to be saved.
#[expect(clippy::exit, reason = "the machine's own thread does not return")]
pub(super) fn end_at_once() -> ! {
    log_line("the sandbox ends: its owner was gone before the guest was up");
    process::exit(1)
}

/// Waits until a connection is closed or has bytes to read. Returns true if it is closed.
async fn is_closed(stream: &UnixStream) -> bool {
    let ready = stream.ready(Interest::READABLE).await;
    ready.is_ok_and(|ready| ready.is_read_closed())
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use tokio::io::AsyncWriteExt as _;
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);
    const GRACE: Duration = Duration::from_secs(3);

    async fn goes_on(waiting: impl Future) -> bool {
        timeout(SOON, waiting).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_owner_that_is_gone_ends_the_sandbox() {
        let owners = Owners::default();
        let first = owners.add(Duration::ZERO);
        let last = owners.add(GRACE);
        drop(first);
        assert!(goes_on(owners.lost()).await, "another owner is left");
        drop(last);
        assert_eq!(owners.lost().await, GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_release_of_the_last_owner_ends_nothing() {
        let owners = Owners::default();
        let first = owners.add(GRACE);
        let last = owners.add(GRACE);
        drop(first);
        last.release();
        assert!(goes_on(owners.lost()).await, "it was released");
        drop(owners.add(GRACE).with_grace(Duration::ZERO));
        assert_eq!(owners.lost().await, Duration::ZERO);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_before_the_guest_is_up_hangs_up() {
        let (stream, there) = UnixStream::pair().expect("a pair");
        let owner = Owners::default().add(GRACE);
        let client = StartingClient { stream, owner };
        assert!(goes_on(StartingClient::hung_up(Some(&client))).await);
        assert!(goes_on(StartingClient::hung_up(None)).await);
        drop(there);
        StartingClient::hung_up(Some(&client)).await;
    }

    #[tokio::test]
    async fn a_client_that_has_called_is_left_to_its_server() {
        let (stream, mut there) = UnixStream::pair().expect("a pair");
        let owner = Owners::default().add(GRACE);
        let client = StartingClient { stream, owner };
        there.write_all(b"PRI").await.expect("written");
        assert!(goes_on(StartingClient::hung_up(Some(&client))).await);
    }
}
