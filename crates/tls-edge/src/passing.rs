//! The TLS hello of a connection that is passed on, read for its name.

use rustls::server::Acceptor;

use crate::event::{EdgeEvent, logged_host};
use crate::hello::HANDSHAKE_RECORD;
use crate::limits::HELLO_MAX_BYTES;

/// A hello that is read as it passes. Its bytes are not kept beyond its end, nor beyond 16 KiB.
#[derive(Default)]
pub struct PassingHello {
    acceptor: Acceptor,
    seen_bytes: usize,
}

/// The result of a look at some bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// The hello is not complete.
    Part,
    /// The hello states a name.
    Hello(EdgeEvent),
    /// The connection is not TLS, its hello is too long, or it states no name.
    Other,
}

impl PassingHello {
    /// Looks at the next bytes of a connection, until the result is another than [`Seen::Part`].
    pub fn look(&mut self, mut bytes: &[u8]) -> Seen {
        if self.seen_bytes == 0 && bytes.first().is_some_and(|byte| *byte != HANDSHAKE_RECORD) {
            return Seen::Other;
        }
        self.seen_bytes = self.seen_bytes.saturating_add(bytes.len());
        while !bytes.is_empty() {
            if !matches!(self.acceptor.read_tls(&mut bytes), Ok(1..)) {
                return Seen::Other;
            }
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => return Seen::of(accepted.client_hello().server_name()),
                Err(_) => return Seen::Other,
            }
        }
        if self.seen_bytes < HELLO_MAX_BYTES {
            Seen::Part
        } else {
            Seen::Other
        }
    }
}

impl Seen {
    fn of(name: Option<&str>) -> Self {
        match name {
            Some(name) => Self::Hello(EdgeEvent::Hello {
                sni: logged_host(name),
                ended: false,
            }),
            None => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
