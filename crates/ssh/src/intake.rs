//! The bytes of a client that wait for the guest, and the reader that waits with them.
//!
//! The window of a channel is given back as soon as bytes arrive, so a channel cannot stop its client by itself: the
//! connection is not read while too many bytes wait. The client's permission to send it more output comes behind its
//! input on the same connection, so the reader goes on, within a higher limit, while output waits for that.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes of all channels beyond which the connection is not read.
const WAITING_MAX_BYTES: usize = 16 << 20;
/// The bytes of all channels that may wait at all.
const WAITING_LIMIT_BYTES: usize = 64 << 20;

/// The input of all channels that has not reached the guest.
#[derive(Debug, Default)]
pub(crate) struct Intake(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting_bytes: usize,
    /// The number of outputs that wait for the client's permission to send.
    starved: usize,
    /// The reader, if it waits.
    reader: Option<Waker>,
}

/// Bytes that wait for the guest, until they are dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) bytes: Bytes,
    length: usize,
    intake: Arc<Intake>,
}

/// An output that waits for the client's permission, until it is dropped.
#[derive(Debug)]
pub(crate) struct Starved<'a>(&'a Intake);

/// More bytes wait than the limit allows.
#[derive(Debug)]
pub(crate) struct Flood;

impl State {
    const fn is_open(&self) -> bool {
        let limit = if self.starved > 0 {
            WAITING_LIMIT_BYTES
        } else {
            WAITING_MAX_BYTES
        };
        self.waiting_bytes < limit
    }
}

impl Intake {
    /// Keeps bytes until the guest takes them.
    pub(crate) fn keep(self: &Arc<Self>, bytes: Bytes) -> Result<Waiting, Flood> {
        let length = bytes.len();
        let mut state = self.state();
        if state.waiting_bytes + length > WAITING_LIMIT_BYTES {
            return Err(Flood);
        }
        state.waiting_bytes += length;
        Ok(Waiting {
            bytes,
            length,
            intake: Arc::clone(self),
        })
    }

    /// Notes that an output waits for the client's permission.
    pub(crate) fn starve(&self) -> Starved<'_> {
        self.change(|state| state.starved += 1);
        Starved(self)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        if state.is_open()
            && let Some(reader) = state.reader.take()
        {
            reader.wake();
        }
    }

    fn poll_open(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.is_open() {
            return Poll::Ready(());
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let length = self.length;
        self.intake.change(|state| state.waiting_bytes -= length);
    }
}

impl Drop for Starved<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.starved -= 1);
    }
}

/// The streams of a client, which are not read while too many bytes wait.
#[derive(Debug)]
pub(crate) struct Streams<R, W> {
    reader: R,
    writer: W,
    intake: Arc<Intake>,
}

impl<R, W> Streams<R, W> {
    pub(crate) fn new((reader, writer): (R, W), intake: Arc<Intake>) -> Self {
        Self {
            reader,
            writer,
            intake,
        }
    }
}

impl<R: AsyncRead + Unpin, W: Unpin> AsyncRead for Streams<R, W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.intake.poll_open(context) {
            Poll::Ready(()) => Pin::new(&mut self.reader).poll_read(context, buffer),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<R: Unpin, W: AsyncWrite + Unpin> AsyncWrite for Streams<R, W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
