#![expect(
    unsafe_code,
    reason = "tokio watches raw descriptors on a promise that they stay open"
)]

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::io::{Errno, ioctl_fionbio, read, write};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A file that can be polled, as a stream: a pipe's end, a terminal, the agent's port.
#[derive(Debug)]
pub(crate) struct Descriptor {
    inner: AsyncFd<OwnedFd>,
}

impl Descriptor {
    pub(crate) fn new(file: OwnedFd) -> io::Result<Self> {
        ioctl_fionbio(&file, true)?;
        // SAFETY: the descriptor is owned, so it stays open and the same until it is dropped, which
        // takes it off the event loop first.
        let inner = unsafe { AsyncFd::register(file)? };
        Ok(Self { inner })
    }

    /// Reads what there is at this moment, without the event loop's knowledge of it.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if nothing is there and more may come.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match read(self.inner.get_ref(), buffer) {
            // A terminal reports EIO when its last user has closed it.
            Err(Errno::IO) => Ok(0),
            outcome => Ok(outcome?),
        }
    }
}

impl AsyncRead for Descriptor {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.inner.poll_read_ready(context))?;
            let file = self.inner.get_ref();
            let unfilled = buffer.initialize_unfilled();
            match read(file, unfilled) {
                Ok(length) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                // A terminal reports EIO when its last user has closed it.
                Err(Errno::IO) => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl AsyncWrite for Descriptor {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.inner.poll_write_ready(context))?;
            match write(self.inner.get_ref(), bytes) {
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                outcome => return Poll::Ready(outcome.map_err(Into::into)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
