use std::io::{self, Read};

use bytes::Bytes;
use msb_agent_protocol::{CHUNK_MAX_BYTES, ChunkReader};
use msb_client::{Error, Operation, Text};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use super::source::Source;
use super::{Copied, CopyOptions};

/// Chunks of an archive that wait for the sandbox.
const PENDING_CHUNKS: usize = 4;

/// A tar archive that is written to a sandbox, which unpacks it meanwhile.
///
/// Dropping it before [`finish`](Self::finish) gives the archive up; entries that were unpacked
/// stay.
#[derive(Debug)]
pub struct TarUpload {
    chunks: Mutex<Option<mpsc::Sender<io::Result<Bytes>>>>,
    unpacking: Mutex<Option<JoinHandle<Result<Copied, Error>>>>,
}

impl TarUpload {
    /// Begins to unpack an archive in the directory `destination`.
    pub(super) fn begin(source: Source, destination: Text, options: CopyOptions) -> Self {
        let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
        let archive = ChunkReader::new(chunks);
        let unpacking = tokio::spawn(unpack(source, destination, options, archive));
        Self {
            chunks: Mutex::new(Some(sender)),
            unpacking: Mutex::new(Some(unpacking)),
        }
    }

    /// Writes bytes of the archive, and waits until the sandbox has room for them.
    ///
    /// # Errors
    /// The reason for which the sandbox unpacks no more.
    pub async fn write(&self, bytes: impl Into<Bytes> + Send) -> Result<(), Error> {
        let mut bytes = bytes.into();
        let mut chunks = self.chunks.lock().await;
        while !bytes.is_empty() {
            let chunk = bytes.split_to(bytes.len().min(CHUNK_MAX_BYTES));
            let is_read = match chunks.as_ref() {
                Some(sender) => sender.send(Ok(chunk)).await.is_ok(),
                None => false,
            };
            if !is_read {
                *chunks = None;
                return Err(self.failure().await);
            }
        }
        Ok(())
    }

    /// Ends the archive, and waits until every entry is in place.
    ///
    /// # Errors
    /// An archive that cannot be unpacked.
    pub async fn finish(&self) -> Result<Copied, Error> {
        *self.chunks.lock().await = None;
        match self.unpacking.lock().await.take() {
            Some(unpacking) => unpacking.await.unwrap_or_else(|_| Err(broken_off())),
            None => Err(broken_off()),
        }
    }

    /// Returns the reason for which the sandbox reads no more.
    async fn failure(&self) -> Error {
        match self.unpacking.lock().await.take() {
            Some(unpacking) => match unpacking.await {
                Ok(Err(error)) => error,
                Ok(Ok(_)) => Error::invalid("the archive has data after its end"),
                Err(_) => broken_off(),
            },
            None => broken_off(),
        }
    }
}

impl Drop for TarUpload {
    fn drop(&mut self) {
        if let Some(unpacking) = self.unpacking.get_mut() {
            unpacking.abort();
        }
    }
}

fn broken_off() -> Error {
    Error::internal("the archive was given up")
}

async fn unpack(
    source: Source,
    destination: Text,
    options: CopyOptions,
    archive: impl Read + Send + 'static,
) -> Result<Copied, Error> {
    let files = source.open().await?;
    let put = msb_sandbox_files::put_tar(archive, &files, destination.as_bytes(), options).await;
    match put {
        Ok(copied) => Ok(copied),
        Err(error) => Err(source.handle.explain(error).await),
    }
}

/// Unpacks an archive that a reader of this process returns.
pub(super) fn put<R: Read + Send + 'static>(
    source: Source,
    archive: R,
    destination: Text,
    options: CopyOptions,
) -> Operation<Copied> {
    Operation::new(unpack(source, destination, options, archive))
}
