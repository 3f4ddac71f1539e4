use msb_agent_protocol::{Archive, Bytes};
use tokio::sync::mpsc;

use super::FilesError;

/// The bytes of a file or an archive in a sandbox, chunk by chunk.
#[derive(Debug)]
pub struct ByteStream(Source);

#[derive(Debug)]
enum Source {
    Guest(Box<Archive>),
    Host(mpsc::Receiver<Result<Bytes, FilesError>>),
}

impl ByteStream {
    pub(super) fn from_guest(archive: Archive) -> Self {
        Self(Source::Guest(Box::new(archive)))
    }

    pub(super) fn from_host(chunks: mpsc::Receiver<Result<Bytes, FilesError>>) -> Self {
        Self(Source::Host(chunks))
    }

    /// Returns the next chunk; `None` at the end.
    ///
    /// # Errors
    /// If the sandbox cannot continue.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FilesError> {
        match &mut self.0 {
            Source::Guest(archive) => Ok(archive.next().await?),
            Source::Host(chunks) => chunks.recv().await.transpose(),
        }
    }
}
