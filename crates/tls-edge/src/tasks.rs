//! The tasks of one connection, which end with it.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::rt::Executor;
use tokio::task::JoinSet;

/// The tasks of one connection. A clone is the same tasks.
#[derive(Debug, Clone)]
pub(crate) struct Tasks(Arc<Mutex<Option<JoinSet<()>>>>);

/// The owner of the tasks of one connection: they are aborted when it is dropped.
#[derive(Debug)]
pub(crate) struct TaskOwner(Tasks);

impl TaskOwner {
    /// Returns the owner of no tasks yet.
    pub(crate) fn new() -> Self {
        Self(Tasks(Arc::new(Mutex::new(Some(JoinSet::new())))))
    }

    /// Returns an executor whose tasks belong to this owner.
    pub(crate) fn tasks(&self) -> Tasks {
        self.0.clone()
    }

    /// Ends the tasks, and waits until all that they held is dropped.
    pub(crate) async fn end(self) {
        if let Some(mut set) = self.0.take() {
            set.shutdown().await;
        }
    }
}

impl Drop for TaskOwner {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

impl Tasks {
    fn take(&self) -> Option<JoinSet<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        let mut set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = set.as_mut() {
            // A connection has at most some tasks for each stream at once, but any number one after the other.
            while set.try_join_next().is_some() {}
            set.spawn(future);
        }
    }
}
