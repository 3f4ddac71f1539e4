use std::fmt;

use bytes::Bytes;
use oci_image::Descriptor;
use tokio::sync::mpsc::Sender;

use super::blob_address::BlobAddress;
use super::download::Download;
use super::error::RegistryError;
use super::ranges::Quota;

/// Most parts of a response in the queue to the thread that reads them.
pub const PARTS_IN_FLIGHT: usize = 16;

/// A source of a blob.
#[derive(Debug, Clone)]
pub struct BlobSource {
    address: BlobAddress,
    quota: Quota,
    is_one_stream: bool,
}

impl fmt::Display for BlobSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.address, formatter)
    }
}

impl BlobSource {
    pub(super) const fn new(address: BlobAddress, quota: Quota) -> Self {
        Self {
            address,
            quota,
            is_one_stream: false,
        }
    }

    /// Returns the same source, of which blobs of any size are downloaded in one stream.
    #[must_use]
    pub fn in_one_stream(self) -> Self {
        Self {
            is_one_stream: true,
            ..self
        }
    }

    /// Returns true if the source is asked for this blob in ranges.
    pub fn uses_ranges(&self, blob: &Descriptor) -> bool {
        let limits = &self.address.endpoint.transport.limits;
        !self.is_one_stream && blob.size_bytes > limits.range_from_bytes
    }

    /// Sends the bytes of a blob in order, each once. After a broken connection, the download
    /// continues at the next byte. A large blob is downloaded in several ranges at once, if the server
    /// has them. The length is checked; the reader checks the digest.
    ///
    /// # Errors
    /// If the source fails permanently, or the reader no longer exists.
    pub async fn download(
        &self,
        blob: &Descriptor,
        parts: Sender<Bytes>,
    ) -> Result<(), RegistryError> {
        self.download_from(blob, &mut 0, parts).await
    }

    /// Sends the bytes of a blob from a position on, as [`download`](Self::download) does. The
    /// position is moved on with each byte that is sent, also if the download fails in the end.
    pub(super) async fn download_from(
        &self,
        blob: &Descriptor,
        position_bytes: &mut u64,
        parts: Sender<Bytes>,
    ) -> Result<(), RegistryError> {
        let what = format!("blob {}", blob.digest);
        let place = (&self.address, &self.quota);
        let mut download = Download::new(place, (blob, &what), *position_bytes, parts);
        if self.uses_ranges(blob) {
            download = download.in_ranges();
        }
        let outcome = download.run().await;
        *position_bytes = download.sent_bytes();
        outcome
    }
}
