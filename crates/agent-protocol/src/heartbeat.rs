//! Detection of a silent peer.
//!
//! HTTP/2 sends a ping to a quiet peer every [`INTERVAL`]. A connection with an agent is never closed
//! because its peer does not answer: a paused machine continues where it stopped, and the caller that
//! waits for an answer decides how long a silence is too long. A connection with a supervisor is
//! given up after a limit: its process is never paused with the guest.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{MissedTickBehavior, interval};

/// The idle time after which HTTP/2 sends a ping to a quiet peer. The shortest silence that a caller
/// judges is 10 s, which leaves an idle peer at least 7 s for its answer.
pub(crate) const INTERVAL: Duration = Duration::from_secs(3);
/// The step in which silence is measured. If this process itself was stopped, that counts as one
/// step, however long it lasted.
const STEP: Duration = Duration::from_secs(1);

/// A count of the reads from a peer. Clones belong to the same connection.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat {
    reads: Arc<AtomicU64>,
    given_up: Arc<OnceLock<SilentPeer>>,
}

/// The peer has sent nothing for longer than a connection allows.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("{SILENT} for {} s, as if it were stopped", .limit.as_secs())]
pub struct SilentPeer {
    limit: Duration,
}

/// The beginning of the message.
const SILENT: &str = "the sandbox's process has sent nothing";

impl SilentPeer {
    /// Returns true if a message is that of this error.
    pub(crate) fn is_message(message: &str) -> bool {
        message.starts_with(SILENT)
    }
}

impl Heartbeat {
    /// Waits until the peer has sent nothing for `limit`, counted from now on. A limit near the
    /// ping interval of 3 s reports peers that are only idle.
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

    /// Returns the reason if the connection was given up because the peer was silent.
    pub(crate) fn given_up(&self) -> Option<SilentPeer> {
        self.given_up.get().copied()
    }

    fn heard(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

/// A stream that counts the reads that return bytes, and fails after a silence.
pub(crate) struct Heard<T> {
    stream: T,
    heartbeat: Heartbeat,
    silence_limit: Option<Duration>,
    /// The silence that ends the connection; `None` before the first bytes, or without a limit.
    silence: Option<Pin<Box<dyn Future<Output = SilentPeer> + Send>>>,
}

impl<T> Heard<T> {
    pub(crate) fn new(stream: T, heartbeat: Heartbeat, silence_limit: Option<Duration>) -> Self {
        Self {
            stream,
            heartbeat,
            silence_limit,
            silence: None,
        }
    }

    /// Counts a read, and begins to watch for a silence.
    fn count(&mut self) {
        self.heartbeat.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(limit) = self.silence_limit.filter(|_| self.silence.is_none()) {
            let heartbeat = self.heartbeat.clone();
            self.silence = Some(Box::pin(async move {
                heartbeat.silence(limit).await;
                SilentPeer { limit }
            }));
        }
    }

    /// Returns the error of the connection once the peer has been silent for too long.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let silent = match (self.heartbeat.given_up(), &mut self.silence) {
            (Some(silent), _) => silent,
            (None, Some(silence)) => ready!(silence.as_mut().poll(context)),
            (None, None) => return Poll::Pending,
        };
        let silent = *self.heartbeat.given_up.get_or_init(|| silent);
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, silent))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Heard<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(read) => {
                if buffer.filled().len() > filled {
                    self.count();
                }
                Poll::Ready(read)
            }
            Poll::Pending => self.poll_silence(context).map(Err),
        }
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
