use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Sender;
use tokio::time::sleep;

use super::until_closed;

/// The time in which the host takes a connection that it has heard of.
const TAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The connections that the host has not taken yet, by their numbers. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    last_id: u64,
    accepted: HashMap<u64, Accepted>,
}

/// A connection of a process.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) stream: UnixStream,
    /// Its share of the limits: of the socket, and of all.
    pub(super) room: [OwnedSemaphorePermit; 2],
}

impl Waiting {
    /// Keeps a connection until the host takes it, cancels the call that it hears of it by, or lets the time pass.
    /// Returns the connection's number.
    pub(super) fn keep<T: Send + 'static>(&self, accepted: Accepted, host: &Sender<T>) -> u64 {
        let mut table = self.table();
        table.last_id += 1;
        let id = table.last_id;
        table.accepted.insert(id, accepted);
        drop(table);
        let waiting = self.clone();
        let kept = until_closed(sleep(TAKE_TIMEOUT), host.clone());
        tokio::spawn(async move {
            kept.await;
            drop(waiting.take(id));
        });
        id
    }

    /// Returns the connection with this number; `None` if it was closed or taken.
    pub(super) fn take(&self, id: u64) -> Option<Accepted> {
        self.table().accepted.remove(&id)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::sync::{Semaphore, mpsc};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_nothing_takes_is_closed() {
        let room = Arc::new(Semaphore::new(4));
        let permit = || room.clone().try_acquire_owned().expect("room");
        let waiting = Waiting::default();
        let (host, events) = mpsc::channel::<()>(1);
        let accept = || {
            let (stream, process) = UnixStream::pair().expect("a pair");
            let room = [permit(), permit()];
            (waiting.keep(Accepted { stream, room }, &host), process)
        };
        let (taken, _process) = accept();
        assert!(waiting.take(taken).is_some() && waiting.take(taken).is_none());
        let (late, mut process) = accept();
        let mut byte = [0];
        assert_eq!(process.read(&mut byte).await.expect("closed"), 0);
        assert!(waiting.take(late).is_none());
        let (_, mut process) = accept();
        drop(events);
        assert_eq!(process.read(&mut byte).await.expect("closed"), 0);
        assert_eq!(room.available_permits(), 4);
    }
}
