//! The calls of a client that wait for their answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::Status;

/// The answer to a call.
pub(crate) type Answer = Result<Vec<u8>, Status>;

/// The calls that wait for their answers, by their numbers.
#[derive(Clone, Default)]
pub(crate) struct Pending(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    waiting: HashMap<u32, oneshot::Sender<Answer>>,
    /// The number of the latest call; 0 before the first.
    last_stream: u32,
    is_closed: bool,
}

/// A call that waits. It no longer does when this is dropped.
pub(crate) struct Waiting {
    stream: u32,
    pending: Pending,
    answer: oneshot::Receiver<Answer>,
}

impl Pending {
    /// Adds a call, and sends its frame while no other call can be added, because numbers ascend on the wire. Returns
    /// `None` if the connection has ended or has no further numbers.
    pub(crate) fn add(&self, send: impl FnOnce(u32)) -> Option<Waiting> {
        let mut calls = self.calls();
        let stream = match calls.last_stream {
            0 => 1,
            last => last.checked_add(2)?,
        };
        if calls.is_closed {
            return None;
        }
        calls.last_stream = stream;
        let (sender, answer) = oneshot::channel();
        calls.waiting.insert(stream, sender);
        send(stream);
        Some(Waiting {
            stream,
            pending: self.clone(),
            answer,
        })
    }

    /// Gives a call its answer. An answer without a call, which may have timed out, is dropped.
    pub(crate) fn resolve(&self, stream: u32, answer: Answer) {
        if let Some(waiting) = self.calls().waiting.remove(&stream) {
            // The caller may have stopped to wait.
            let _ = waiting.send(answer);
        }
    }

    /// Ends all calls without an answer.
    pub(crate) fn close(&self) {
        let mut calls = self.calls();
        calls.is_closed = true;
        calls.waiting.clear();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.calls().is_closed
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Waits for the answer; `None` if the connection ended before.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.pending.calls().waiting.remove(&self.stream);
    }
}
