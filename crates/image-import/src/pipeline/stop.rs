use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sender of a stop signal, which it gives when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct StopOnDrop(Arc<AtomicBool>);

/// Receiver of a stop signal.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(Arc<AtomicBool>);

/// A reader that fails after the stop signal was given.
#[derive(Debug)]
pub(crate) struct Stoppable<R> {
    source: R,
    signal: StopSignal,
}

impl StopOnDrop {
    pub(crate) fn signal(&self) -> StopSignal {
        StopSignal(Arc::clone(&self.0))
    }
}

impl StopSignal {
    /// Returns true if the signal was given.
    pub(crate) fn is_given(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<R> Stoppable<R> {
    pub(crate) fn new(source: R, signal: StopSignal) -> Self {
        Self { source, signal }
    }
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.signal.is_given() {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "it was cancelled because another part failed",
            ));
        }
        self.source.read(buffer)
    }
}
