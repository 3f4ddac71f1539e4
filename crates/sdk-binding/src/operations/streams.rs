//! Objects that are read, or written, piece by piece.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use msb_sdk::{FileStream, FileUpload, Logs, StatsWatch, TarUpload};
use serde::Deserialize;
use tokio::sync::watch;

use super::Nothing;
use super::sandbox::SandboxObject;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

/// A stream that can be closed before its end, also while a call waits for its next item.
pub(super) struct Stream<T> {
    stream: Mutex<Option<Arc<T>>>,
    is_closed: watch::Sender<bool>,
}

impl<T> Stream<T> {
    pub(super) fn new(stream: T) -> Self {
        Self {
            stream: Mutex::new(Some(Arc::new(stream))),
            is_closed: watch::Sender::new(false),
        }
    }

    /// Returns the stream; `None` if it was closed.
    pub(super) fn open(&self) -> Option<Arc<T>> {
        self.stream
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits for an item of the stream. `None` once the stream is closed: an item that comes later is lost.
    pub(super) async fn unless_closed<R>(&self, item: impl Future<Output = R>) -> Option<R> {
        let mut is_closed = self.is_closed.subscribe();
        tokio::select! {
            biased;
            _ = is_closed.wait_for(|is_closed| *is_closed) => None,
            item = item => Some(item),
        }
    }

    /// Closes the stream. A call that waits for its next item ends; one that writes keeps it until it has ended.
    pub(super) fn close(&self) {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        drop(stream.take());
        self.is_closed.send_replace(true);
    }
}

impl Object for Stream<Logs> {
    const KIND: &'static str = "logs";

    fn close(&self) {
        Self::close(self);
    }
}

impl Object for Stream<FileStream> {
    const KIND: &'static str = "bytes";

    fn close(&self) {
        Self::close(self);
    }
}

impl Object for Stream<TarUpload> {
    const KIND: &'static str = "tar-upload";

    fn close(&self) {
        Self::close(self);
    }
}

impl Object for Stream<FileUpload> {
    const KIND: &'static str = "file-upload";

    fn close(&self) {
        Self::close(self);
    }
}

impl Object for Stream<StatsWatch> {
    const KIND: &'static str = "stats-watch";

    fn close(&self) {
        Self::close(self);
    }
}

#[derive(Debug, Deserialize)]
struct WatchStats {
    interval_ms: u64,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("next", next_bytes),
        Operation::new("close", close_bytes),
        Operation::new("watch_stats", watch_stats),
        Operation::new("next", next_stats),
        Operation::new("close", close_stats),
        Operation::new("write", write_tar),
        Operation::new("finish", finish_tar),
        Operation::new("close", close_tar),
        Operation::new("write", write_file),
        Operation::new("finish", finish_file),
        Operation::new("close", close_file),
    ]
}

/// Returns the next bytes, with the value true; null after the last.
async fn next_bytes(
    stream: Arc<Stream<FileStream>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let Some(bytes) = stream.open() else {
        return Ok(Answer::empty());
    };
    let next = stream.unless_closed(bytes.next()).await;
    match next.transpose()?.flatten() {
        Some(bytes) => Ok(Answer::with_value(&true)?.with_content(vec![bytes])),
        None => Ok(Answer::empty()),
    }
}

async fn close_bytes(
    stream: Arc<Stream<FileStream>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    stream.close();
    Ok(Answer::empty())
}

async fn watch_stats(
    sandbox: Arc<SandboxObject>,
    watch: WatchStats,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let interval = Duration::from_millis(watch.interval_ms);
    let watch = sandbox.0.watch_stats(interval);
    Ok(Answer::empty().with_object(Stream::new(watch)))
}

/// Returns the next sample; null once the sandbox has ended.
async fn next_stats(
    watch: Arc<Stream<StatsWatch>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let Some(samples) = watch.open() else {
        return Ok(Answer::empty());
    };
    let next = watch.unless_closed(samples.next()).await;
    match next.transpose()?.flatten() {
        Some(stats) => Answer::with_value(&stats),
        None => Ok(Answer::empty()),
    }
}

async fn close_stats(
    watch: Arc<Stream<StatsWatch>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    watch.close();
    Ok(Answer::empty())
}

async fn write_tar(
    upload: Arc<Stream<TarUpload>>,
    _: Nothing,
    content: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let upload = upload.open().ok_or_else(|| Failure::closed("tar-upload"))?;
    for bytes in content {
        upload.write(bytes).await?;
    }
    Ok(Answer::empty())
}

async fn finish_tar(
    upload: Arc<Stream<TarUpload>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let upload = upload.open().ok_or_else(|| Failure::closed("tar-upload"))?;
    Answer::with_value(&upload.finish().await?)
}

async fn close_tar(
    upload: Arc<Stream<TarUpload>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    upload.close();
    Ok(Answer::empty())
}

async fn write_file(
    upload: Arc<Stream<FileUpload>>,
    _: Nothing,
    content: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let upload = upload
        .open()
        .ok_or_else(|| Failure::closed("file-upload"))?;
    for bytes in content {
        upload.write(bytes).await?;
    }
    Ok(Answer::empty())
}

async fn finish_file(
    upload: Arc<Stream<FileUpload>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let upload = upload
        .open()
        .ok_or_else(|| Failure::closed("file-upload"))?;
    upload.finish().await?;
    Ok(Answer::empty())
}

async fn close_file(
    upload: Arc<Stream<FileUpload>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    upload.close();
    Ok(Answer::empty())
}

#[cfg(test)]
mod tests;
