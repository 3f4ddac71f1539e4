use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A reader that fails once its [`Stop`] is dropped, so that a thread that reads it ends soon after
/// the task that waits for the thread.
pub(super) struct Stoppable<R> {
    inner: R,
    is_stopped: Arc<AtomicBool>,
}

/// Stops a reader when it is dropped.
pub(super) struct Stop(Arc<AtomicBool>);

impl<R> Stoppable<R> {
    pub(super) fn new(inner: R) -> (Self, Stop) {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Stop(Arc::clone(&is_stopped));
        (Self { inner, is_stopped }, stop)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.inner.read(buffer)
    }
}
