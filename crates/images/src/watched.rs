use std::sync::Arc;

use msb_client::{Error, ErrorKind};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::event_queue::{EventQueue, Joined};

/// A pull or a push that runs, and its events. Dropping it stops the work.
#[derive(Debug)]
pub(crate) struct Watched<E, T> {
    queue: Arc<EventQueue<E>>,
    work: Mutex<Work<T>>,
}

#[derive(Debug)]
struct Work<T> {
    task: JoinHandle<Result<T, Error>>,
    outcome: Option<Result<T, Error>>,
    is_over: bool,
}

impl<E, T> Watched<E, T>
where
    E: Joined,
    T: Clone + Send + 'static,
{
    /// Begins work that tells its events to the queue, on the current Tokio runtime.
    pub(crate) fn begin<F>(work: impl FnOnce(Arc<EventQueue<E>>) -> F) -> Self
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let queue = Arc::new(EventQueue::default());
        let task = tokio::spawn(work(Arc::clone(&queue)));
        Self {
            queue,
            work: Mutex::new(Work {
                task,
                outcome: None,
                is_over: false,
            }),
        }
    }

    /// Returns the next event, and waits for it; `None` once the work is complete.
    ///
    /// # Errors
    /// The failure of the work, once.
    pub(crate) async fn next(&self) -> Result<Option<E>, Error> {
        let mut work = self.work.lock().await;
        if !work.is_over {
            tokio::select! {
                biased;
                event = self.queue.next() => return Ok(Some(event)),
                outcome = &mut work.task => {
                    work.is_over = true;
                    work.outcome = Some(outcome.unwrap_or_else(|_| Err(broken_off())));
                }
            }
        }
        if let Some(event) = self.queue.take() {
            return Ok(Some(event));
        }
        match work.outcome.take() {
            Some(Err(error)) => Err(error),
            outcome => {
                work.outcome = outcome;
                Ok(None)
            }
        }
    }

    /// Waits until the work is complete, and returns its result.
    ///
    /// # Errors
    /// The failure of the work, unless [`next`](Self::next) has returned it.
    pub(crate) async fn result(&self) -> Result<T, Error> {
        while self.next().await?.is_some() {}
        let mut work = self.work.lock().await;
        match work.outcome.take() {
            Some(Ok(result)) => {
                work.outcome = Some(Ok(result.clone()));
                Ok(result)
            }
            Some(Err(error)) => Err(error),
            None => Err(broken_off()),
        }
    }
}

impl<E, T> Drop for Watched<E, T> {
    fn drop(&mut self) {
        self.work.get_mut().task.abort();
    }
}

fn broken_off() -> Error {
    Error::new(ErrorKind::PullError, "the pull or push was aborted")
}
