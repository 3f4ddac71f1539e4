use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::hellos::HelloWatch;
use crate::tcp::HostStream;

/// A stream whose first bytes from the guest are looked at once they have passed. Nothing is changed or delayed.
pub(crate) struct Watched<S> {
    stream: S,
    /// `None` once nothing more is of interest.
    watch: Option<HelloWatch>,
}

impl<S> Watched<S> {
    pub(crate) const fn new(stream: S, watch: Option<HelloWatch>) -> Self {
        Self { stream, watch }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        if let Some(watch) = &mut self.watch {
            let passed = bytes.get(..written).unwrap_or(bytes);
            if !watch.look(passed) {
                self.watch = None;
            }
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: HostStream> HostStream for Watched<S> {
    fn reset_at_end(&self) {
        self.stream.reset_at_end();
    }
}
