use std::fmt;

use bytes::{Buf as _, Bytes};
use oci_image::{Descriptor, excerpt};
use reqwest::{Response, StatusCode, Url};
use tokio::sync::mpsc::Sender;

use super::body::Body;
use super::endpoint::{Endpoint, Request};
use super::error::RegistryError;
use super::retry::Failures;
use super::transport::{header, without_credentials};

/// Most parts of a response in the queue to the thread that reads them.
pub const PARTS_IN_FLIGHT: usize = 16;

/// A source of a blob.
#[derive(Debug, Clone, Copy)]
pub struct BlobSource<'a> {
    endpoint: &'a Endpoint,
    /// Address in the manifest; `None` for the repository itself.
    elsewhere: Option<&'a str>,
}

/// State of a download.
#[derive(Debug)]
struct Download<'a> {
    blob: &'a Descriptor,
    what: &'a str,
    sent_bytes: u64,
    parts: Sender<Bytes>,
}

impl fmt::Display for BlobSource<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elsewhere {
            Some(address) => formatter.write_str(&excerpt(address)),
            None => formatter.write_str(&self.endpoint.host()),
        }
    }
}

impl<'a> BlobSource<'a> {
    /// Returns the repository as a source.
    pub(super) fn from_endpoint(endpoint: &'a Endpoint) -> Self {
        let elsewhere = None;
        Self {
            endpoint,
            elsewhere,
        }
    }

    /// Returns an address in the manifest as a source.
    pub(super) fn elsewhere(endpoint: &'a Endpoint, address: &'a str) -> Self {
        let elsewhere = Some(address);
        Self {
            endpoint,
            elsewhere,
        }
    }

    /// Sends the bytes of a blob in order, each once. After a broken connection, the download
    /// continues at the next byte. The length is checked; the reader checks the digest.
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
        let mut download = Download {
            blob,
            what: &what,
            sent_bytes: *position_bytes,
            parts,
        };
        let outcome = self.persist(&mut download).await;
        *position_bytes = download.sent_bytes;
        outcome
    }

    async fn persist(&self, download: &mut Download<'_>) -> Result<(), RegistryError> {
        let limits = &self.endpoint.transport.limits;
        let mut failures = Failures::default();
        for _ in 0..limits.breaks {
            let before = download.sent_bytes;
            let error = match self.go_on(download).await {
                Err(error) if error.is_transient() => error,
                // The server answered before, so it may answer again.
                Err(error @ RegistryError::Unreachable { .. }) if before > 0 => error,
                outcome => return outcome,
            };
            let came_bytes = download.sent_bytes - before;
            let Some(earlier) = failures.add(limits, &error, came_bytes) else {
                return Err(error);
            };
            self.endpoint.pause(download.what, &error, earlier).await;
        }
        Err(download.short())
    }

    async fn go_on(&self, download: &mut Download<'_>) -> Result<(), RegistryError> {
        let (what, from_byte) = (download.what, download.sent_bytes);
        let response = match self.elsewhere {
            Some(address) => {
                let url = foreign_url(address)?;
                self.endpoint.get_elsewhere(what, &url, from_byte).await?
            }
            None => {
                let request = Request {
                    path: format!("blobs/{}", download.blob.digest),
                    what,
                    accept: None,
                    from_byte,
                };
                self.endpoint.get(&request).await?
            }
        };
        let mut skip_bytes = start_of(&response, download.blob, what, from_byte)?;
        let mut body = Body::new(response, what, &self.endpoint.transport.limits);
        while let Some(mut part) = body.next().await? {
            let skipped = usize::try_from(skip_bytes)
                .unwrap_or(usize::MAX)
                .min(part.len());
            part.advance(skipped);
            skip_bytes -= length(skipped);
            download.send(part).await?;
        }
        if download.sent_bytes < download.blob.size_bytes {
            return Err(download.short());
        }
        Ok(())
    }
}

impl Download<'_> {
    async fn send(&mut self, part: Bytes) -> Result<(), RegistryError> {
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

    fn short(&self) -> RegistryError {
        RegistryError::Short {
            what: self.what.to_owned(),
            expected_bytes: self.blob.size_bytes,
            actual_bytes: self.sent_bytes,
        }
    }
}

/// Parses an address in a manifest's `urls`. Blobs outside of the registry are fetched over TLS
/// only.
fn foreign_url(address: &str) -> Result<Url, RegistryError> {
    let url = Url::parse(address)
        .ok()
        .filter(|url| url.scheme() == "https");
    url.map(without_credentials)
        .ok_or_else(|| RegistryError::Foreign {
            address: excerpt(address),
        })
}

/// Returns the number of bytes to skip at the start of a response, so that it continues at
/// `wanted`. A registry may ignore the range of a request and send the whole blob.
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
