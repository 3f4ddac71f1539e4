use bytes::{Buf as _, Bytes};
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc::Sender;

use super::client::{Registry, Request};
use super::error::RegistryError;
use super::transport::{cut, header};
use crate::image::Descriptor;

/// Parts of an answer on their way to the thread that reads them.
pub(crate) const PARTS_IN_FLIGHT: usize = 16;
/// How often in a row a blob may break off without a byte of progress.
const FRUITLESS_MAX: u32 = 3;
/// How often a blob may break off in all.
const BREAKS_MAX: u32 = 50;

impl Registry {
    /// Sends a blob's bytes as they come, in order, each once; where the connection breaks, from
    /// there on. The length is checked, the digest is left to whoever reads.
    pub(crate) async fn download(
        &self,
        blob: &Descriptor,
        parts: Sender<Bytes>,
    ) -> Result<(), RegistryError> {
        let what = format!("blob {}", blob.digest);
        let (mut sent_bytes, mut fruitless) = (0, 0);
        for _ in 0..BREAKS_MAX {
            let before = sent_bytes;
            let outcome = self
                .download_from(blob, &what, &mut sent_bytes, &parts)
                .await;
            let error = match outcome {
                Err(error) if error.is_transient() => error,
                // It answered before, so it may again.
                Err(error @ RegistryError::Unreachable { .. }) if sent_bytes > 0 => error,
                outcome => return outcome,
            };
            fruitless = if sent_bytes > before {
                0
            } else {
                fruitless + 1
            };
            if fruitless > FRUITLESS_MAX {
                return Err(error);
            }
            self.pause(&what, &error, fruitless.saturating_sub(1)).await;
        }
        let (expected_bytes, actual_bytes) = (blob.size_bytes, sent_bytes);
        Err(RegistryError::Short {
            what,
            expected_bytes,
            actual_bytes,
        })
    }

    async fn download_from(
        &self,
        blob: &Descriptor,
        what: &str,
        sent_bytes: &mut u64,
        parts: &Sender<Bytes>,
    ) -> Result<(), RegistryError> {
        let path = format!("blobs/{}", blob.digest);
        let request = Request {
            path,
            what,
            accept: None,
            from_byte: *sent_bytes,
        };
        let mut response = self.get(&request).await?;
        let mut skip_bytes = start_of(&response, blob, what, *sent_bytes)?;
        while let Some(mut part) = response.chunk().await.map_err(|source| cut(what, source))? {
            let skipped = usize::try_from(skip_bytes)
                .unwrap_or(usize::MAX)
                .min(part.len());
            part.advance(skipped);
            skip_bytes -= length(skipped);
            if part.is_empty() {
                continue;
            }
            *sent_bytes += length(part.len());
            if *sent_bytes > blob.size_bytes {
                let limit_bytes = blob.size_bytes;
                return Err(RegistryError::Long {
                    what: what.to_owned(),
                    limit_bytes,
                });
            }
            parts
                .send(part)
                .await
                .map_err(|_| RegistryError::Abandoned)?;
        }
        if *sent_bytes < blob.size_bytes {
            let (expected_bytes, actual_bytes) = (blob.size_bytes, *sent_bytes);
            return Err(RegistryError::Short {
                what: what.to_owned(),
                expected_bytes,
                actual_bytes,
            });
        }
        Ok(())
    }
}

/// How many bytes of an answer to leave out, so that it goes on at `wanted`: a registry may ignore
/// what it was asked for and begin anew.
fn start_of(
    response: &Response,
    blob: &Descriptor,
    what: &str,
    wanted: u64,
) -> Result<u64, RegistryError> {
    let expected_bytes = blob.size_bytes;
    if response.status() == StatusCode::PARTIAL_CONTENT {
        let start = header(response.headers(), "content-range").and_then(range_start);
        return start
            .and_then(|start| wanted.checked_sub(start))
            .ok_or_else(|| RegistryError::Short {
                what: what.to_owned(),
                expected_bytes,
                actual_bytes: wanted,
            });
    }
    match response.content_length() {
        Some(actual_bytes) if actual_bytes != expected_bytes => Err(RegistryError::Size {
            what: what.to_owned(),
            expected_bytes,
            actual_bytes,
        }),
        _ => Ok(wanted),
    }
}

/// The first byte of `bytes 5-9/10`.
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
