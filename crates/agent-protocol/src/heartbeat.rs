//! Detection of a silent peer.
//!
//! HTTP/2 sends a ping to a quiet peer every [`INTERVAL`]. Nothing here closes a connection whose
//! peer does not answer: a paused machine continues where it stopped. The caller that waits for an
//! answer decides how long a silence is too long.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{MissedTickBehavior, interval};

/// The idle time after which HTTP/2 sends a ping to a quiet peer.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);
/// The step in which silence is measured. If this process itself was stopped, that counts as one
/// step, however long it lasted.
const STEP: Duration = Duration::from_secs(1);

/// A count of the reads from a peer. Clones belong to the same connection.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat {
    reads: Arc<AtomicU64>,
}

impl Heartbeat {
    /// Waits until the peer has sent nothing for `limit`, counted from now on. A limit below the
    /// ping interval of 10 s reports peers that are only idle.
    pub async fn silence(&self, limit: Duration) {
        let mut steps = interval(STEP);
        steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        steps.tick().await;
        let mut heard = self.heard();
        let mut silent_for = Duration::ZERO;
        while silent_for < limit {
            steps.tick().await;
            silent_for += STEP;
            let now = self.heard();
            if now != heard {
                (heard, silent_for) = (now, Duration::ZERO);
            }
        }
    }

    fn heard(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

/// A stream that counts the reads that return bytes.
#[derive(Debug)]
pub(crate) struct Heard<T> {
    stream: T,
    heartbeat: Heartbeat,
}

impl<T> Heard<T> {
    pub(crate) fn new(stream: T, heartbeat: Heartbeat) -> Self {
        Self { stream, heartbeat }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Heard<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if buffer.filled().len() > filled {
            self.heartbeat.reads.fetch_add(1, Ordering::Relaxed);
        }
        Poll::Ready(read)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Heard<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
