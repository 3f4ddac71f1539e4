//! The bytes beneath a TLS session, which are read up to the end of a record and not beyond it.
//!
//! A session that has passed its text on holds nothing then, and a connection that rests costs little.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{client, server};

use crate::records::Records;

/// A stream of TLS records.
#[derive(Debug)]
pub(crate) struct Raw<S> {
    stream: S,
    records: Records,
    /// A byte that has arrived and was not passed on yet.
    arrived: Option<u8>,
    /// The number of bytes that were passed on since the last text.
    unread: usize,
}

impl<S> Raw<S> {
    /// Returns a stream of which these bytes were read already.
    pub(crate) fn after(stream: S, read: &[u8]) -> Self {
        let mut records = Records::default();
        records.pass(read);
        Self {
            stream,
            records,
            arrived: None,
            unread: 0,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Raw<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let room = this.records.room().min(buffer.remaining());
        if room == 0 {
            return Poll::Ready(Ok(()));
        }
        let part = buffer.initialize_unfilled_to(room);
        let read = if let (Some(first), Some(byte)) = (part.first_mut(), this.arrived.take()) {
            *first = byte;
            1
        } else {
            let mut part = ReadBuf::new(part);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut part))?;
            part.filled().len()
        };
        let before = buffer.filled().len();
        buffer.advance(read);
        let (_, new) = buffer.filled().split_at(before);
        this.records.pass(new);
        this.unread += read;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Raw<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

/// A stream that can rest until something arrives.
pub(crate) trait Rest: AsyncRead + AsyncWrite + Unpin {
    /// Waits until something arrives, which may be the end. It is read later.
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// The number of bytes that arrived since the last text, such as an incomplete message of TLS.
    fn unread(&mut self) -> &mut usize;
}

impl<S: AsyncRead + AsyncWrite + Unpin> Rest for Raw<S> {
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.arrived.is_some() {
            return Poll::Ready(());
        }
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        // The end and an error are met again by whoever reads next.
        let _ = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
        self.arrived = buffer.filled().first().copied();
        Poll::Ready(())
    }

    fn unread(&mut self) -> &mut usize {
        &mut self.unread
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Rest for server::TlsStream<Raw<S>> {
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.get_mut().0.poll_arrival(context)
    }

    fn unread(&mut self) -> &mut usize {
        self.get_mut().0.unread()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Rest for client::TlsStream<Raw<S>> {
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.get_mut().0.poll_arrival(context)
    }

    fn unread(&mut self) -> &mut usize {
        self.get_mut().0.unread()
    }
}

#[cfg(test)]
mod tests;
