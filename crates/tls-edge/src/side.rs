//! One side of a connection in HTTP/1.1, which outlives the HTTP that is spoken on it.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::UNREAD_MAX_BYTES;
use crate::raw::Rest;

/// One side of a connection.
#[derive(Debug)]
pub(crate) struct Side<S> {
    stream: S,
    /// Bytes that were read from the stream and belong to the next message.
    ahead: Bytes,
    state: Arc<SideState>,
}

/// The state of a side, for whoever does not hold it.
#[derive(Debug, Default)]
pub(crate) struct SideState {
    /// True while HTTP waits for more than the stream has.
    waits: AtomicBool,
    /// True if all that HTTP wrote is flushed.
    is_flushed: AtomicBool,
    /// True once HTTP has read something.
    has_read: AtomicBool,
}

impl SideState {
    /// Returns true if HTTP waits for more, and all that it wrote is on its way.
    pub(crate) fn is_still(&self) -> bool {
        self.waits.load(Ordering::Relaxed) && self.is_flushed.load(Ordering::Relaxed)
    }

    /// Returns true if HTTP has read something.
    pub(crate) fn has_read(&self) -> bool {
        self.has_read.load(Ordering::Relaxed)
    }
}

impl<S: Rest> Side<S> {
    /// Returns the side of a stream, after its handshake and before HTTP is spoken on it.
    pub(crate) fn new(mut stream: S) -> Self {
        *stream.unread() = 0;
        Self::after(stream, Bytes::new())
    }

    /// Returns the side on which other HTTP is spoken next, with the bytes that the last one read and did not take.
    pub(crate) fn again(self, ahead: Bytes) -> Self {
        Self::after(self.stream, ahead)
    }

    fn after(stream: S, ahead: Bytes) -> Self {
        Self {
            stream,
            ahead,
            state: Arc::default(),
        }
    }

    /// Returns the state of the side.
    pub(crate) fn state(&self) -> Arc<SideState> {
        Arc::clone(&self.state)
    }

    /// Returns true if bytes of the next message were read.
    pub(crate) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Waits until something arrives, which may be the end.
    pub(crate) async fn arrival(&mut self) {
        if self.ahead.is_empty() {
            poll_fn(|context| self.stream.poll_arrival(context)).await;
        }
    }
}

impl<S: Rest> AsyncRead for Side<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.ahead.is_empty() {
            let read = this.ahead.len().min(buffer.remaining());
            buffer.put_slice(&this.ahead.split_to(read));
            this.state.waits.store(false, Ordering::Relaxed);
            this.state.has_read.store(true, Ordering::Relaxed);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        let waits = polled.is_pending() && *this.stream.unread() <= UNREAD_MAX_BYTES;
        this.state.waits.store(waits, Ordering::Relaxed);
        ready!(polled)?;
        if buffer.filled().len() > before {
            *this.stream.unread() = 0;
            this.state.has_read.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Rest> AsyncWrite for Side<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.state.is_flushed.store(false, Ordering::Relaxed);
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.state.is_flushed.store(false, Ordering::Relaxed);
        Pin::new(&mut this.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_flush(context);
        let is_flushed = matches!(polled, Poll::Ready(Ok(())));
        this.state.is_flushed.store(is_flushed, Ordering::Relaxed);
        polled
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
