use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinHandle;

use super::content::ReadError;
use super::transfer::Transfer;
use crate::blob::PARTS_IN_FLIGHT;

/// The bytes that a source sends, from some offset on.
#[derive(Debug)]
pub(super) struct Feed {
    parts: Receiver<Bytes>,
    /// Bytes of a part that were not taken.
    rest: Bytes,
    position_bytes: u64,
    task: JoinHandle<()>,
}

impl Feed {
    /// Asks the source for its bytes from `offset_bytes` on. Its failure is recorded in the
    /// transfer before the bytes end.
    pub(super) fn open(transfer: &Arc<Transfer>, offset_bytes: u64) -> Self {
        let (sender, parts) = mpsc::channel(PARTS_IN_FLIGHT);
        let open = sender.clone();
        let transfer = Arc::downgrade(transfer);
        let task = tokio::spawn(async move {
            let Some(source) = transfer.upgrade().map(|it| Arc::clone(&it.source)) else {
                return;
            };
            let sent = source.send_from(offset_bytes, sender).await;
            if let (Err(error), Some(transfer)) = (sent, transfer.upgrade()) {
                transfer.fail(error);
            }
            drop(open);
        });
        Self {
            parts,
            rest: Bytes::new(),
            position_bytes: offset_bytes,
            task,
        }
    }

    pub(super) const fn position_bytes(&self) -> u64 {
        self.position_bytes
    }

    /// Returns the next bytes, at most `limit_bytes`; `None` at the end.
    fn poll(&mut self, context: &mut Context<'_>, limit_bytes: u64) -> Poll<Option<Bytes>> {
        while self.rest.is_empty() {
            match ready!(self.parts.poll_recv(context)) {
                Some(part) => self.rest = part,
                None => return Poll::Ready(None),
            }
        }
        let limit = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
        let taken = self.rest.split_to(limit.min(self.rest.len()));
        self.position_bytes += u64::try_from(taken.len()).unwrap_or(u64::MAX);
        Poll::Ready(Some(taken))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The body of a request: the bytes of a blob from the source's position to the end of a part.
#[derive(Debug)]
pub(super) struct PartBody {
    transfer: Arc<Transfer>,
    attempt: u64,
    /// `None` if there is nothing to send.
    feed: Option<Feed>,
    left_bytes: u64,
}

impl PartBody {
    pub(super) fn new(transfer: &Arc<Transfer>, start_bytes: u64, length_bytes: u64) -> Self {
        Self {
            transfer: Arc::clone(transfer),
            attempt: transfer.begin(start_bytes),
            feed: (length_bytes > 0).then(|| transfer.feed(start_bytes)),
            left_bytes: length_bytes,
        }
    }
}

impl Body for PartBody {
    type Data = Bytes;
    type Error = ReadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ReadError>>> {
        let left_bytes = self.left_bytes;
        let Some(feed) = self.feed.as_mut().filter(|_| left_bytes > 0) else {
            return Poll::Ready(None);
        };
        match feed.poll(context, left_bytes) {
            Poll::Pending => {
                self.transfer.await_source(self.attempt);
                Poll::Pending
            }
            Poll::Ready(Some(bytes)) => {
                if !self.transfer.hand_over(self.attempt, &bytes) {
                    return Poll::Ready(Some(Err("another attempt has begun".into())));
                }
                self.left_bytes -= u64::try_from(bytes.len()).unwrap_or(left_bytes);
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Poll::Ready(None) => {
                let short = || "its source ended too early".into();
                self.transfer.fail(short());
                Poll::Ready(Some(Err(short())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes)
    }
}

impl Drop for PartBody {
    fn drop(&mut self) {
        if let Some(feed) = self.feed.take() {
            self.transfer.keep(self.attempt, feed);
        }
    }
}
