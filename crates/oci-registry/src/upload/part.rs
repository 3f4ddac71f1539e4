use std::sync::Arc;

use super::body::PartBody;
use super::transfer::Transfer;
use crate::error::RegistryError;
use crate::limits::RegistryLimits;

/// A part of a blob that one request sends; the whole blob if nothing breaks off.
#[derive(Debug, Clone)]
pub(crate) struct BlobPart {
    transfer: Arc<Transfer>,
    start_bytes: u64,
    end_bytes: u64,
}

impl BlobPart {
    pub(super) const fn new(transfer: Arc<Transfer>, start_bytes: u64, end_bytes: u64) -> Self {
        Self {
            transfer,
            start_bytes,
            end_bytes,
        }
    }

    /// Returns the number of bytes.
    pub(crate) const fn length_bytes(&self) -> u64 {
        self.end_bytes.saturating_sub(self.start_bytes)
    }

    /// Returns the bytes as the body of a request, which ends that of an earlier attempt.
    pub(crate) fn body(&self) -> reqwest::Body {
        let body = PartBody::new(&self.transfer, self.start_bytes, self.length_bytes());
        reqwest::Body::wrap(body)
    }

    /// Returns an error once the registry takes the bytes too slowly.
    pub(crate) async fn stalled(&self, limits: &RegistryLimits) -> RegistryError {
        self.transfer.stalled(limits, self.end_bytes).await
    }

    /// Takes the failure of the source of the bytes; `None` if it has not failed.
    pub(crate) fn failure(&self) -> Option<RegistryError> {
        self.transfer.failure()
    }
}
