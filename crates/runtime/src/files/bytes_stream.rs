use msb_agent_protocol::{Archive, Bytes};
use tokio::sync::mpsc;

use super::FilesError;

/// Bytes that come from a sandbox, chunk by chunk.
#[derive(Debug)]
pub struct ByteStream(Source);

#[derive(Debug)]
enum Source {
    Guest(Box<Archive>),
    Host(mpsc::Receiver<Result<Bytes, FilesError>>),
}

impl ByteStream {
    pub(super) fn of_guest(archive: Archive) -> Self {
        Self(Source::Guest(Box::new(archive)))
    }

    pub(super) fn of_host(chunks: mpsc::Receiver<Result<Bytes, FilesError>>) -> Self {
        Self(Source::Host(chunks))
    }

    /// What comes next; `None` at the end.
    ///
    /// # Errors
    /// When the sandbox cannot go on.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FilesError> {
        match &mut self.0 {
            Source::Guest(archive) => Ok(archive.next().await?),
            Source::Host(chunks) => chunks.recv().await.transpose(),
        }
    }
}
