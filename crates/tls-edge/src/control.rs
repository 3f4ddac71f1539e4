//! The signals between the ends of a connection.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The signals between the ends of a connection.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Notified once the guest's end is to be closed.
    pub(crate) closing: Notify,
    /// Notified once the guest's end is to be broken off.
    pub(crate) ended: Notify,
    awaits_change: AtomicBool,
}

impl Control {
    /// Has the guest's end accept no more requests, and close after the answers to those that it accepted.
    pub(crate) fn close(&self) {
        self.closing.notify_one();
    }

    /// Breaks the guest's end off.
    pub(crate) fn end(&self) {
        self.ended.notify_one();
    }

    /// Sets that the host may change the protocol: its end is not closed then, it is handed over.
    pub(crate) fn await_change(&self, awaits: bool) {
        self.awaits_change.store(awaits, Ordering::Release);
    }

    /// Closes the guest's end, because the host closed its own.
    pub(crate) fn host_closed(&self) {
        if !self.awaits_change.load(Ordering::Acquire) {
            self.close();
        }
    }
}
