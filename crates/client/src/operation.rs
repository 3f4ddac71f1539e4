use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Error;

/// An operation, which runs while it is awaited.
///
/// It owns everything that it works with, so it can be sent to another task. Dropping it cancels
/// it: a command that it runs is killed, a sandbox that it starts is removed, a download stops. A change of
/// a sandbox, such as a rollback or a snapshot, is a whole: once begun, it is done in spite of that, a
/// start is undone, and the next call of this client on the sandbox waits for that. So the runtime has to
/// live until then; `Msb::settled` waits for all of them.
#[must_use = "an operation does nothing until it is awaited"]
pub struct Operation<T>(Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'static>>);

impl<T> Operation<T> {
    /// Returns an operation that runs a future.
    pub fn new(work: impl Future<Output = Result<T, Error>> + Send + 'static) -> Self {
        Self(Box::pin(work))
    }
}

impl<T> Future for Operation<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for Operation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Operation")
    }
}

/// Runs work that blocks on a thread for it.
pub async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Error>
where
    T: Send + 'static,
    E: Send + 'static,
    Error: From<E>,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome.map_err(Error::from),
        // The runtime is shut down: it drops this operation, whose owner tells why.
        Err(error) if error.is_cancelled() => std::future::pending().await,
        Err(_) => Err(Error::internal("the operation was aborted")),
    }
}
