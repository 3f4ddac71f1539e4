use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// A connection of a client. From its first call that wants something of the sandbox until it is
/// dropped, it keeps the sandbox from being idle. A call that only asks for the state does not.
#[derive(Debug)]
pub(super) struct ClientConnection {
    /// Number of connections that keep the sandbox from being idle.
    clients: watch::Sender<usize>,
    is_counted: AtomicBool,
}

impl ClientConnection {
    /// Returns a connection that is not counted among `clients` yet.
    pub(super) const fn new(clients: watch::Sender<usize>) -> Self {
        Self {
            clients,
            is_counted: AtomicBool::new(false),
        }
    }

    /// Counts the connection, once.
    pub(super) fn count(&self) {
        if !self.is_counted.swap(true, Ordering::Relaxed) {
            self.clients.send_modify(|count| *count += 1);
        }
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        if *self.is_counted.get_mut() {
            self.clients.send_modify(|count| *count -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_counts_from_its_first_call_to_its_end() {
        let clients = watch::Sender::new(0);
        let connection = ClientConnection::new(clients.clone());
        assert_eq!(*clients.borrow(), 0);
        connection.count();
        connection.count();
        assert_eq!(*clients.borrow(), 1);
        drop(connection);
        drop(ClientConnection::new(clients.clone()));
        assert_eq!(*clients.borrow(), 0);
    }
}
