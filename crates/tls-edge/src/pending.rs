use std::future;

use tokio::sync::mpsc;

use crate::event::{EdgeEvent, Events};

/// The events that a connection's tasks report. All of them are delivered, also if the connection is aborted.
pub(crate) struct Pending<'a> {
    receiver: mpsc::UnboundedReceiver<EdgeEvent>,
    events: &'a dyn Events,
}

impl<'a> Pending<'a> {
    /// Returns the events that arrive at `receiver`, to be delivered to `events`.
    pub(crate) fn new(
        receiver: mpsc::UnboundedReceiver<EdgeEvent>,
        events: &'a dyn Events,
    ) -> Self {
        Self { receiver, events }
    }

    /// Waits for an event, and delivers it.
    pub(crate) async fn deliver(&mut self) {
        match self.receiver.recv().await {
            Some(event) => self.events.event(event),
            None => future::pending().await,
        }
    }

    /// Delivers the events that are there.
    pub(crate) fn deliver_all(&mut self) {
        while let Ok(event) = self.receiver.try_recv() {
            self.events.event(event);
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.deliver_all();
    }
}

/// Returns false if an answer was broken off: an error of the "user" is that of an answer. Any other one is the guest's,
/// which broke its end off, or does not speak HTTP.
pub(crate) fn is_clean(result: &hyper::Result<()>) -> bool {
    !result.as_ref().is_err_and(hyper::Error::is_user)
}
