//! The bounds of the connections at once.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::limits::{ACTIVE_MAX, CONNECTIONS_MAX, HANDSHAKES_MAX, HTTP2_CONNECTIONS_MAX};

/// The bounds of an edge's connections.
#[derive(Debug)]
pub(crate) struct Gates {
    /// A permit for each connection that is ended, or whose hello is not read yet. Most of them rest.
    pub(crate) connections: Semaphore,
    /// A permit for each request until both bodies have ended. They are given in order.
    pub(crate) active: Arc<Semaphore>,
    /// A permit for each connection whose protocol is HTTP/2.
    pub(crate) http2: Semaphore,
    /// A permit for each connection that does its handshakes.
    pub(crate) handshakes: Semaphore,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            connections: Semaphore::new(CONNECTIONS_MAX),
            active: Arc::new(Semaphore::new(ACTIVE_MAX)),
            http2: Semaphore::new(HTTP2_CONNECTIONS_MAX),
            handshakes: Semaphore::new(HANDSHAKES_MAX),
        }
    }
}
