use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use containerd_protocol::events::{Envelope, TOPIC_DELETE, TOPIC_EXIT};
use containerd_protocol::{Any, Message as _, Named};
use tokio::sync::watch;

use crate::clock;

/// The most events that wait for containerd: an exit for each process that a shim accepts, and others beside them.
const EVENTS_MAX: usize = 8192;
/// The most bytes of the events that wait.
const EVENTS_MAX_BYTES: usize = 16 << 20;

/// The events that containerd has not taken, the oldest first.
///
/// If there are too many, the oldest that is neither the exit nor the removal of a task is dropped first.
pub(crate) struct EventQueue {
    namespace: String,
    events: Mutex<Events>,
    /// The number of events that wait.
    waiting: watch::Sender<usize>,
}

#[derive(Default)]
struct Events {
    queue: VecDeque<Event>,
    bytes: usize,
    /// The number of the latest event.
    last: u64,
}

struct Event {
    number: u64,
    envelope: Envelope,
    bytes: usize,
}

impl EventQueue {
    pub(crate) fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            events: Mutex::default(),
            waiting: watch::Sender::new(0),
        }
    }

    /// Adds an event after all others.
    pub(crate) fn push(&self, topic: &str, event: &impl Named) {
        let envelope = Envelope {
            timestamp: Some(clock::now()),
            namespace: self.namespace.clone(),
            topic: topic.to_owned(),
            event: Some(Any::pack(event)),
        };
        let mut events = self.events();
        events.last += 1;
        let (number, bytes) = (events.last, envelope.encoded_len());
        events.bytes += bytes;
        events.queue.push_back(Event {
            number,
            envelope,
            bytes,
        });
        while events.queue.len() > EVENTS_MAX || events.bytes > EVENTS_MAX_BYTES {
            events.drop_one();
        }
        self.waiting.send_replace(events.queue.len());
    }

    /// Waits for an event, and returns the oldest with its number.
    pub(crate) async fn oldest(&self) -> (u64, Envelope) {
        let mut waiting = self.waiting.subscribe();
        loop {
            if let Some(event) = self.events().queue.front() {
                return (event.number, event.envelope.clone());
            }
            // The sender lives as long as this call.
            let _ = waiting.wait_for(|waiting| *waiting > 0).await;
        }
    }

    /// Removes an event that containerd has taken.
    pub(crate) fn taken(&self, number: u64) {
        let mut events = self.events();
        // It can have been dropped meanwhile.
        if events
            .queue
            .front()
            .is_some_and(|event| event.number == number)
        {
            events.remove(0);
        }
        self.waiting.send_replace(events.queue.len());
    }

    /// Waits until containerd has taken all events.
    pub(crate) async fn emptied(&self) {
        // The sender lives as long as this call.
        let _ = self
            .waiting
            .subscribe()
            .wait_for(|waiting| *waiting == 0)
            .await;
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    fn drop_one(&mut self) {
        let is_final = |topic: &str| topic == TOPIC_EXIT || topic == TOPIC_DELETE;
        let mut topics = self.queue.iter().map(|event| event.envelope.topic.as_str());
        let first = topics.position(|topic| !is_final(topic));
        self.remove(first.unwrap_or(0));
    }

    fn remove(&mut self, index: usize) {
        if let Some(event) = self.queue.remove(index) {
            self.bytes -= event.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use containerd_protocol::events::{TOPIC_OOM, TaskExit, TaskOom};

    use super::*;

    #[tokio::test]
    async fn events_leave_in_their_order_and_exits_outlast_others() {
        let queue = EventQueue::new("n");
        let oom = TaskOom {
            container_id: "a".to_owned(),
        };
        let exit = |pid| TaskExit {
            pid,
            ..TaskExit::default()
        };
        queue.push(TOPIC_OOM, &oom);
        for pid in 1..=u32::try_from(EVENTS_MAX).expect("it is small") {
            queue.push(TOPIC_EXIT, &exit(pid));
        }
        let (number, oldest) = queue.oldest().await;
        assert_eq!((number, oldest.namespace.as_str()), (2, "n"));
        let event = oldest.event.expect("it has an event");
        assert_eq!(event.unpack::<TaskExit>(), Some(Ok(exit(1))));
        // Another event was dropped, so its number has no effect.
        queue.taken(1);
        assert_eq!(queue.oldest().await.0, 2);
        queue.taken(2);
        assert_eq!(queue.oldest().await.0, 3);
    }

    #[tokio::test]
    async fn long_events_are_bounded_by_their_bytes() {
        let queue = EventQueue::new("n");
        let oom = TaskOom {
            container_id: "a".repeat(EVENTS_MAX_BYTES / 4),
        };
        for _ in 0..8 {
            queue.push(TOPIC_OOM, &oom);
        }
        assert_eq!(queue.oldest().await.0, 6);
        for number in 6..=8 {
            queue.taken(number);
        }
        queue.emptied().await;
    }
}
