use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use oci_image::Descriptor;
use tokio::sync::mpsc::Sender;

use super::error::RegistryError;
use super::repository::Repository;
use super::upload::{BlobBytes, ReadError};

/// A blob of a repository as the source of an upload: it is streamed from one registry to the
/// other, and kept on neither way.
#[derive(Debug)]
pub struct RepositoryBlob {
    repository: Arc<Repository>,
    blob: Descriptor,
}

impl RepositoryBlob {
    /// Returns a blob of a repository.
    pub const fn new(repository: Arc<Repository>, blob: Descriptor) -> Self {
        Self { repository, blob }
    }

    async fn send(&self, mut position_bytes: u64, parts: Sender<Bytes>) -> Result<(), ReadError> {
        let mut outcome: Result<(), RegistryError> = Err(RegistryError::Abandoned);
        for source in self.repository.sources(&self.blob) {
            let parts = parts.clone();
            // The upload reads at its own pace, from whatever position it is asked for.
            outcome = source
                .in_one_stream()
                .download_from(&self.blob, &mut position_bytes, parts)
                .await;
            match &outcome {
                // The upload needs no more bytes.
                Ok(()) | Err(RegistryError::Abandoned) => return Ok(()),
                Err(_) => {}
            }
        }
        outcome.map_err(Into::into)
    }
}

impl BlobBytes for RepositoryBlob {
    fn send_from(
        self: Arc<Self>,
        offset_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>> {
        Box::pin(async move { self.send(offset_bytes, parts).await })
    }
}
