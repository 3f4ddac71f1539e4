use std::io;

use crate::Request;

/// The part of a device that answers its requests, on the thread of the queues.
pub trait Answer: Send + Sync + 'static {
    /// Answers a request, at once or later.
    ///
    /// # Errors
    /// If the queue of the request is invalid: it stays so, and the device takes no further request of it.
    fn answer(&self, request: Request) -> io::Result<()>;

    /// Ends the requests that have no answer yet. The VMM has given the device its memory: a driver begins, and it
    /// does not know the requests of the driver before.
    fn begin_anew(&self) {}

    /// Learns, once, why the device takes no further requests while the VMM goes on.
    fn give_up(&self, _reason: &io::Error) {}
}
