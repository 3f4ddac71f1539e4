use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

/// A task that is cancelled when this future is dropped.
pub(crate) struct CallGuard<T>(JoinHandle<T>);

impl<T> CallGuard<T> {
    pub(crate) const fn new(task: JoinHandle<T>) -> Self {
        Self(task)
    }
}

impl<T> Future for CallGuard<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for CallGuard<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
