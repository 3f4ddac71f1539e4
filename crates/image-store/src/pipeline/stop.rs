use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells threads that nobody waits for their work any more. Given when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct StopOnDrop(Arc<AtomicBool>);

/// Whether that was told.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(Arc<AtomicBool>);

/// A source that fails once nobody waits any more.
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
    /// Whether nobody waits any more.
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
                "it was given up",
            ));
        }
        self.source.read(buffer)
    }
}
