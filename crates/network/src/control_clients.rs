use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::limits::{CONTROL_CLIENTS_MAX, CONTROL_IDLE_TIMEOUT};

/// The clients of the control socket. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clients(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    /// The number of the client that came last.
    last: u64,
    clients: BTreeMap<u64, Client>,
}

#[derive(Debug)]
struct Client {
    /// The time since which the client has had no request; `None` while it has one.
    idle_since: Option<Instant>,
    leaving: Arc<Notify>,
}

/// The place of one client, which is free once this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    clients: Clients,
    number: u64,
    leaving: Arc<Notify>,
}

impl Clients {
    /// Returns the place of another client. If all are taken, one that has had no request for long gives its own up:
    /// of several, the one that came last, because the process that refreshes the values comes first, and waits for
    /// days. `None` if there is none.
    pub(crate) fn enter(&self) -> Option<Place> {
        let mut open = self.lock();
        if open.clients.len() >= CONTROL_CLIENTS_MAX {
            let mut clients = open.clients.iter().rev();
            let (&idle, _) = clients.find(|(_, client)| client.is_idle())?;
            let client = open.clients.remove(&idle)?;
            client.leaving.notify_one();
        }
        open.last += 1;
        let number = open.last;
        let leaving = Arc::new(Notify::new());
        let client = Client {
            idle_since: Some(Instant::now()),
            leaving: Arc::clone(&leaving),
        };
        open.clients.insert(number, client);
        Some(Place {
            clients: self.clone(),
            number,
            leaving,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    fn is_idle(&self) -> bool {
        let idle = self.idle_since.map(|since| since.elapsed());
        idle.is_some_and(|idle| idle >= CONTROL_IDLE_TIMEOUT)
    }
}

impl Place {
    /// Waits for the next request. `None` if the client has to give its place up.
    pub(crate) async fn await_request<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        self.set_idle_since(Some(Instant::now()));
        let request = tokio::select! {
            request = request => Some(request),
            () = self.leaving.notified() => None,
        };
        self.set_idle_since(None);
        request
    }

    fn set_idle_since(&self, idle_since: Option<Instant>) {
        if let Some(client) = self.clients.lock().clients.get_mut(&self.number) {
            client.idle_since = idle_since;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clients.lock().clients.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_client_that_is_idle_for_long_gives_its_place_up() {
        let clients = Clients::default();
        let mut places: Vec<_> = (0..CONTROL_CLIENTS_MAX)
            .map(|_| clients.enter().unwrap())
            .collect();
        assert!(clients.enter().is_none());
        advance(CONTROL_IDLE_TIMEOUT).await;
        // The last one has just had a request.
        let last = places.last().unwrap();
        assert_eq!(last.await_request(ready(1)).await, Some(1));
        let waiting = tokio::spawn({
            let place = places.remove(CONTROL_CLIENTS_MAX - 2);
            async move { place.await_request(pending::<()>()).await }
        });
        tokio::task::yield_now().await;
        advance(CONTROL_IDLE_TIMEOUT).await;
        let last = places.last().unwrap();
        assert_eq!(last.await_request(ready(2)).await, Some(2));
        let new = clients.enter().unwrap();
        assert_eq!(waiting.await.unwrap(), None);
        // The first two are idle, too.
        let second = clients.enter().unwrap();
        drop((new, second));
        assert_eq!(clients.lock().clients.len(), CONTROL_CLIENTS_MAX - 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_makes_room() {
        let clients = Clients::default();
        let mut places: Vec<_> = (0..CONTROL_CLIENTS_MAX)
            .map(|_| clients.enter().unwrap())
            .collect();
        assert!(clients.enter().is_none());
        places.pop();
        let place = clients.enter().unwrap();
        assert!(clients.enter().is_none());
        drop(place);
    }
}
