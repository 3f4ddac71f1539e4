//! The exchanges of a connection that are under way: requests whose bodies, or whose answers' bodies, have not ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::OwnedSemaphorePermit;

/// The exchanges of a connection.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    under_way: AtomicUsize,
    has_begun: AtomicBool,
    is_spoiled: AtomicBool,
}

/// An exchange that is under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Ongoing {
    exchanges: Arc<Exchanges>,
    has_request: AtomicBool,
    has_answer: AtomicBool,
    /// The permit to be active, if the exchange and not its connection has it.
    permit: Option<OwnedSemaphorePermit>,
}

impl Exchanges {
    /// Begins an exchange.
    pub(crate) fn begin(self: &Arc<Self>) -> Ongoing {
        self.has_begun.store(true, Ordering::Relaxed);
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Ongoing {
            exchanges: Arc::clone(self),
            has_request: AtomicBool::new(false),
            has_answer: AtomicBool::new(false),
            permit: None,
        }
    }

    /// Forgets that an exchange has begun.
    pub(crate) fn begin_turn(&self) {
        self.has_begun.store(false, Ordering::Relaxed);
    }

    /// Returns true if an exchange has begun in this turn.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Returns true if an exchange is under way.
    pub(crate) fn are_under_way(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }

    /// Returns true if none is under way, and all were read to their ends: what arrives next is a new message.
    pub(crate) fn are_whole(&self) -> bool {
        !self.are_under_way() && !self.is_spoiled.load(Ordering::Relaxed)
    }
}

impl Ongoing {
    /// Keeps the permit to be active until the exchange ends.
    pub(crate) fn keep(&mut self, permit: OwnedSemaphorePermit) {
        self.permit = Some(permit);
    }

    /// Tells that the request was read to its end.
    pub(crate) fn end_request(&self) {
        self.has_request.store(true, Ordering::Relaxed);
    }

    /// Tells that the host's answer was read to its end, or that the host was not asked.
    pub(crate) fn end_answer(&self) {
        self.has_answer.store(true, Ordering::Relaxed);
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        let is_whole =
            self.has_request.load(Ordering::Relaxed) && self.has_answer.load(Ordering::Relaxed);
        if !is_whole {
            self.exchanges.is_spoiled.store(true, Ordering::Relaxed);
        }
        self.exchanges.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_whole_once_each_has_ended_on_both_sides() {
        let exchanges = Arc::new(Exchanges::default());
        assert!(exchanges.are_whole() && !exchanges.has_begun());
        let (first, second) = (exchanges.begin(), exchanges.begin());
        first.end_request();
        first.end_answer();
        drop(first);
        assert!(exchanges.are_under_way() && !exchanges.are_whole());
        second.end_answer();
        drop(second);
        // A part of its body may still arrive.
        assert!(!exchanges.are_under_way() && !exchanges.are_whole());
        exchanges.begin_turn();
        assert!(!exchanges.has_begun() && !exchanges.are_whole());
    }
}
