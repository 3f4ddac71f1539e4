//! Events of a pull, from the threads that import to the task that watches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use image_store::{Event, Progress};
use tokio::sync::Notify;

use super::PullEvent;

/// The most events that wait for a slow watcher. An image has a few events for each layer, and at
/// most some thousands of layers; bytes of one layer are added up.
const WAITING_MAX: usize = 1 << 16;

/// A queue of events that never blocks its senders.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    waiting: Mutex<VecDeque<PullEvent>>,
    changed: Notify,
}

impl EventQueue {
    /// Returns the next event, and waits for it.
    pub(super) async fn next(&self) -> PullEvent {
        loop {
            let changed = self.changed.notified();
            if let Some(event) = self.take() {
                return event;
            }
            changed.await;
        }
    }

    /// Returns the next event; `None` if no event is waiting.
    pub(super) fn take(&self) -> Option<PullEvent> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_front()
    }

    fn add(&self, event: PullEvent) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !add_up(&mut waiting, &event) && waiting.len() < WAITING_MAX {
            waiting.push_back(event);
        }
        drop(waiting);
        self.changed.notify_one();
    }
}

/// Adds bytes of a layer to its event that is waiting already. Returns false if there is none.
fn add_up(waiting: &mut VecDeque<PullEvent>, event: &PullEvent) -> bool {
    let PullEvent::LayerBytes { diff_id, bytes } = event else {
        return false;
    };
    // Later events of the layer come after all of its bytes, so an event that waits is its last.
    for earlier in waiting.iter_mut().rev() {
        if let PullEvent::LayerBytes {
            diff_id: other,
            bytes: sum,
        } = earlier
            && other == diff_id
        {
            *sum += bytes;
            return true;
        }
    }
    false
}

/// The receiver of a pull's events, on the threads that import. It must be quick.
pub(crate) type Observer = Arc<dyn Fn(PullEvent) + Send + Sync>;

/// A receiver of progress that passes events on.
pub(crate) struct Observed(pub(crate) Observer);

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observed")
    }
}

impl Progress for Observed {
    fn event(&self, event: &Event<'_>) {
        if let Some(event) = PullEvent::convert(event) {
            (self.0)(event);
        }
    }
}

/// Returns a receiver that passes events on to an observer, if there is one.
pub(crate) fn observed(observer: Option<&Observer>) -> Arc<dyn Progress> {
    match observer {
        Some(observer) => Arc::new(Observed(Arc::clone(observer))),
        None => Arc::new(()),
    }
}

impl Progress for EventQueue {
    fn event(&self, event: &Event<'_>) {
        if let Some(event) = PullEvent::convert(event) {
            self.add(event);
        }
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
}
