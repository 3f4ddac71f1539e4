//! Events of a pull or a push, from the threads that work to the task that watches.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use image_export::PushProgress;
use image_store::{Event, Progress};
use tokio::sync::Notify;

use super::{PullEvent, PushEvent};

/// The most events that wait for a slow watcher. An image has a few events for each layer, and at
/// most some thousands of layers; those that tell how far a layer has come are joined.
const WAITING_MAX: usize = 1 << 16;

/// An event that the next one of its layer may be joined to while it waits.
pub(crate) trait Joined {
    /// Returns the diff ID of the event's layer; `None` if it is about none or about all.
    fn layer(&self) -> Option<&str>;

    /// Makes this event tell what the next one of its layer tells too. Returns false if it cannot.
    fn join(&mut self, next: &Self) -> bool;
}

/// A queue of events that never blocks its senders.
#[derive(Debug)]
pub(crate) struct EventQueue<E> {
    waiting: Mutex<VecDeque<E>>,
    changed: Notify,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            changed: Notify::new(),
        }
    }
}

impl<E: Joined> EventQueue<E> {
    /// Returns the next event, and waits for it.
    pub(crate) async fn next(&self) -> E {
        loop {
            let changed = self.changed.notified();
            if let Some(event) = self.take() {
                return event;
            }
            changed.await;
        }
    }

    /// Returns the next event; `None` if no event is waiting.
    pub(crate) fn take(&self) -> Option<E> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_front()
    }

    fn add(&self, event: E) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_joined = event.layer().is_some_and(|layer| {
            let mut others = waiting.iter_mut().rev();
            let last = others.find(|other| other.layer() == Some(layer));
            last.is_some_and(|last| last.join(&event))
        });
        if !is_joined && waiting.len() < WAITING_MAX {
            waiting.push_back(event);
        }
        drop(waiting);
        self.changed.notify_one();
    }
}

impl Progress for EventQueue<PullEvent> {
    fn event(&self, event: &Event<'_>) {
        if let Some(event) = PullEvent::convert(event) {
            self.add(event);
        }
    }
}

impl PushProgress for EventQueue<PushEvent> {
    fn event(&self, event: &image_export::PushEvent<'_>) {
        if let Some(event) = PushEvent::convert(event) {
            self.add(event);
        }
    }
}

impl Joined for PullEvent {
    fn layer(&self) -> Option<&str> {
        match self {
            Self::LayerPresent { diff_id }
            | Self::LayerWaiting { diff_id }
            | Self::LayerStarted { diff_id }
            | Self::LayerBytes { diff_id, .. }
            | Self::LayerNotes { diff_id, .. }
            | Self::LayerDone { diff_id } => Some(diff_id),
            _ => None,
        }
    }

    /// Adds bytes up.
    fn join(&mut self, next: &Self) -> bool {
        let (Self::LayerBytes { bytes: sum, .. }, Self::LayerBytes { bytes, .. }) = (self, next)
        else {
            return false;
        };
        *sum += bytes;
        true
    }
}

impl Joined for PushEvent {
    fn layer(&self) -> Option<&str> {
        match self {
            Self::LayerCompressing { diff_id }
            | Self::LayerStarted { diff_id, .. }
            | Self::LayerPosition { diff_id, .. }
            | Self::LayerDone { diff_id, .. } => Some(diff_id),
            _ => None,
        }
    }

    /// Replaces a position.
    fn join(&mut self, next: &Self) -> bool {
        let (
            Self::LayerPosition { position_bytes, .. },
            Self::LayerPosition {
                position_bytes: next,
                ..
            },
        ) = (self, next)
        else {
            return false;
        };
        *position_bytes = *next;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(layer: &str, bytes: u64) -> PullEvent {
        PullEvent::LayerBytes {
            diff_id: layer.to_owned(),
            bytes,
        }
    }

    fn position(layer: &str, position_bytes: u64) -> PushEvent {
        PushEvent::LayerPosition {
            diff_id: layer.to_owned(),
            position_bytes,
        }
    }

    #[tokio::test]
    async fn bytes_of_a_layer_are_added_up_while_they_wait() {
        let queue = EventQueue::default();
        for (layer, count) in [("a", 1), ("b", 10), ("a", 2), ("b", 20)] {
            queue.add(bytes(layer, count));
        }
        assert_eq!(queue.next().await, bytes("a", 3));
        queue.add(bytes("a", 4));
        assert_eq!(queue.next().await, bytes("b", 30));
        assert_eq!(queue.next().await, bytes("a", 4));
        assert_eq!(queue.take(), None);
    }

    #[tokio::test]
    async fn a_position_replaces_the_one_that_waits_unless_the_layer_began_anew() {
        let queue = EventQueue::default();
        for (layer, bytes) in [("a", 1), ("b", 10), ("a", 2), ("b", 5)] {
            queue.add(position(layer, bytes));
        }
        let anew = PushEvent::LayerCompressing {
            diff_id: "a".to_owned(),
        };
        queue.add(anew.clone());
        queue.add(position("a", 1));
        assert_eq!(queue.next().await, position("a", 2));
        assert_eq!(queue.next().await, position("b", 5));
        assert_eq!(queue.next().await, anew);
        assert_eq!(queue.next().await, position("a", 1));
        assert_eq!(queue.take(), None);
    }
}
