//! Standard output as a writer that notes when its reader is gone.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::Stream;

/// Standard output as the stream of an archive. Its reader may close it.
#[derive(Debug, Default)]
pub struct StdoutStream {
    is_closed: Arc<AtomicBool>,
}

impl StdoutStream {
    /// Returns the flag that is true once the reader has closed the stream: it wants no more.
    pub fn closed(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_closed)
    }

    fn unwritable(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::Interrupted => error,
            io::ErrorKind::BrokenPipe => {
                self.is_closed.store(true, Ordering::Relaxed);
                error
            }
            _ => Stream::Stdout.unwritable(error),
        }
    }
}

impl Write for StdoutStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = io::stdout().lock().write(bytes);
        written.map_err(|error| self.unwritable(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = io::stdout().lock().flush();
        flushed.map_err(|error| self.unwritable(error))
    }
}
