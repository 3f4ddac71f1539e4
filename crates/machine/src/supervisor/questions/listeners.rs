use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use questions::{End, News, Outbox, Question};

/// The number of clients that listen.
const LISTENERS_MAX: usize = 64;

/// The clients that listen, by a number of each.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    all: BTreeMap<u64, Listener>,
    last: u64,
}

#[derive(Debug)]
struct Listener {
    outbox: Outbox,
    /// The task that waits for news.
    waker: Option<Waker>,
}

impl Listeners {
    /// Adds a client while questions wait for an answer. Returns its number; `None` if there are too many.
    pub(super) fn add(&mut self, waiting: impl Iterator<Item = Question>) -> Option<u64> {
        if self.all.len() >= LISTENERS_MAX {
            return None;
        }
        self.last += 1;
        let listener = Listener {
            outbox: Outbox::new(waiting),
            waker: None,
        };
        self.all.insert(self.last, listener);
        Some(self.last)
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.all.remove(&number);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Shows a question to all clients.
    pub(super) fn ask(&mut self, question: &Question) {
        for listener in self.all.values_mut() {
            listener.outbox.ask(question.clone());
            listener.wake();
        }
    }

    /// Tells the end of a question to the clients that know it.
    pub(super) fn end(&mut self, id: u64, end: &End) {
        for listener in self.all.values_mut() {
            listener.outbox.end(id, end);
            listener.wake();
        }
    }

    /// Takes the next news for a client, or keeps its task, which is woken once there may be some. The news of a
    /// client that does not exist have ended.
    pub(super) fn poll(&mut self, number: u64, context: &Context<'_>) -> Poll<Option<News>> {
        let Some(listener) = self.all.get_mut(&number) else {
            return Poll::Ready(None);
        };
        match listener.outbox.take() {
            Some(news) => Poll::Ready(Some(news)),
            None => {
                listener.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Listener {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
