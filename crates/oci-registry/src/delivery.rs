use bytes::{Buf as _, Bytes};
use oci_image::Descriptor;
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc::Sender;

use super::body::Body;
use super::error::RegistryError;
use super::limits::RegistryLimits;
use super::transport::header;

/// The bytes of a blob, sent to its reader in order and once each.
#[derive(Debug)]
pub(super) struct Delivery<'a> {
    pub(super) blob: &'a Descriptor,
    /// Description of the blob, for messages.
    pub(super) what: &'a str,
    pub(super) limits: &'a RegistryLimits,
    parts: Sender<Bytes>,
    sent_bytes: u64,
}

impl<'a> Delivery<'a> {
    /// Returns the delivery of a blob, called `what` in messages, after its first `sent_bytes`.
    pub(super) const fn new(
        (blob, what): (&'a Descriptor, &'a str),
        limits: &'a RegistryLimits,
        sent_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Self {
        Self {
            blob,
            what,
            limits,
            parts,
            sent_bytes,
        }
    }

    /// Returns the number of bytes that the reader has got.
    pub(super) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    pub(super) const fn left_bytes(&self) -> u64 {
        self.blob.size_bytes.saturating_sub(self.sent_bytes)
    }

    /// Sends the next bytes.
    pub(super) async fn send(&mut self, part: Bytes) -> Result<(), RegistryError> {
        if part.is_empty() {
            return Ok(());
        }
        self.sent_bytes += length(part.len());
        if self.sent_bytes > self.blob.size_bytes {
            return Err(RegistryError::Long {
                what: self.what.to_owned(),
                limit_bytes: self.blob.size_bytes,
            });
        }
        let sent = self.parts.send(part).await;
        sent.map_err(|_| RegistryError::Abandoned)
    }

    /// Sends the next bytes up to the position `end`, and no further ones.
    pub(super) async fn send_up_to(
        &mut self,
        end: u64,
        mut part: Bytes,
    ) -> Result<(), RegistryError> {
        part.truncate(clamped(end.saturating_sub(self.sent_bytes)));
        self.send(part).await
    }

    /// Sends the rest of the blob from a response, which may begin before it.
    pub(super) async fn send_rest(&mut self, response: Response) -> Result<(), RegistryError> {
        let mut skip_bytes = self.start_of(&response)?;
        let mut body = Body::new(response, self.what, self.limits);
        while let Some(mut part) = body.next().await? {
            let skipped = clamped(skip_bytes).min(part.len());
            part.advance(skipped);
            skip_bytes -= length(skipped);
            self.send(part).await?;
        }
        if self.left_bytes() > 0 {
            return Err(self.short());
        }
        Ok(())
    }

    /// Returns the number of bytes to skip at the start of a response, so that it continues with the
    /// next byte. A registry may ignore the range of a request and send the whole blob.
    fn start_of(&self, response: &Response) -> Result<u64, RegistryError> {
        if response.status() == StatusCode::PARTIAL_CONTENT {
            let start = header(response.headers(), "content-range").and_then(range_start);
            return start
                .and_then(|start| self.sent_bytes.checked_sub(start))
                .ok_or_else(|| self.short());
        }
        let expected_bytes = self.blob.size_bytes;
        match response.content_length() {
            Some(actual_bytes) if actual_bytes != expected_bytes => Err(RegistryError::Size {
                what: self.what.to_owned(),
                expected_bytes,
                actual_bytes,
            }),
            _ => Ok(self.sent_bytes),
        }
    }

    /// Returns the error of a response that ended early.
    pub(super) fn short(&self) -> RegistryError {
        RegistryError::Short {
            what: self.what.to_owned(),
            expected_bytes: self.blob.size_bytes,
            actual_bytes: self.sent_bytes,
        }
    }
}

/// Returns the first number of a range such as `bytes 5-9/10`; `None` if it cannot be parsed.
fn range_start(text: &str) -> Option<u64> {
    text.trim()
        .strip_prefix("bytes ")?
        .split('-')
        .next()?
        .trim()
        .parse()
        .ok()
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn clamped(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
