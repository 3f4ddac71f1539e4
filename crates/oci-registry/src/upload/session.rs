use oci_image::Descriptor;
use reqwest::header::{CONTENT_LENGTH, HeaderMap};
use reqwest::{Method, Response, Url};

use crate::endpoint::Endpoint;
use crate::error::RegistryError;
use crate::transport::{Outgoing, Payload, header, location};

/// An upload that a registry has begun and awaits the bytes of.
#[derive(Debug, Clone)]
pub struct UploadSession {
    /// Address of the next request, which each answer renews.
    pub(super) location: Url,
    /// Smallest chunk that the registry takes, in bytes; 0 if it states none.
    pub(super) chunk_min_bytes: u64,
    /// Number of bytes that the registry has.
    pub(super) offset_bytes: u64,
}

/// Answer to the request for an upload.
#[derive(Debug)]
pub(crate) enum Begun {
    /// The blob is in the repository: it was mounted from another one.
    Mounted,
    /// The bytes have to be sent.
    Session(UploadSession),
}

/// Returns the request that asks whether a registry has a blob.
pub(crate) fn inquiry<'a>(
    endpoint: &Endpoint,
    blob: &Descriptor,
    what: &'a str,
) -> Result<Outgoing<'a>, RegistryError> {
    Ok(Outgoing {
        what,
        method: Method::HEAD,
        url: endpoint.url(&format!("blobs/{}", blob.digest))?,
        headers: HeaderMap::new(),
        payload: Payload::Empty,
    })
}

/// Returns true if an answer to an [`inquiry`] confirms the blob. One of another length is not this
/// blob, whatever the registry says.
pub(crate) fn confirms(response: &Response, blob: &Descriptor) -> bool {
    let length = header(response.headers(), CONTENT_LENGTH.as_str());
    let length = length.and_then(|text| text.parse::<u64>().ok());
    response.status().is_success() && length.is_none_or(|bytes| bytes == blob.size_bytes)
}

/// Asks a registry for an upload of a blob. With `mount_from`, another repository of the registry,
/// the blob is mounted from there if the registry agrees. Sends one request.
pub(crate) async fn begin(
    endpoint: &Endpoint,
    blob: &Descriptor,
    what: &str,
    mount_from: Option<&str>,
) -> Result<Begun, RegistryError> {
    let mut url = endpoint.url("blobs/uploads/")?;
    if let Some(from) = mount_from {
        let digest = blob.digest.to_string();
        url.query_pairs_mut()
            .append_pair("mount", &digest)
            .append_pair("from", from);
    }
    let request = Outgoing {
        what,
        method: Method::POST,
        url,
        headers: HeaderMap::new(),
        payload: Payload::Empty,
    };
    let response = endpoint.call(&request).await?;
    let response = match endpoint.checked(what, response).await {
        Err(RegistryError::NotFound { registry, what }) => {
            return Err(RegistryError::Upload {
                registry,
                what,
                problem: "it has no such repository and makes none".to_owned(),
            });
        }
        checked => checked?,
    };
    if mount_from.is_some() && response.status() == 201 {
        return Ok(Begun::Mounted);
    }
    Ok(Begun::Session(UploadSession {
        location: next_location(endpoint, what, &response)?,
        chunk_min_bytes: header(response.headers(), "oci-chunk-min-length")
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0),
        offset_bytes: 0,
    }))
}

impl UploadSession {
    /// Takes over what an answer says about the upload. Without a `Range`, the registry has
    /// `otherwise_bytes`.
    pub(super) fn renew(
        &mut self,
        endpoint: &Endpoint,
        what: &str,
        response: &Response,
        otherwise_bytes: u64,
    ) -> Result<(), RegistryError> {
        if header(response.headers(), "location").is_some() {
            self.location = next_location(endpoint, what, response)?;
        }
        let range = header(response.headers(), "range");
        self.offset_bytes = match range {
            None => otherwise_bytes,
            Some(range) => received(range).ok_or_else(|| RegistryError::Upload {
                registry: endpoint.host(),
                what: what.to_owned(),
                problem: "its Range cannot be read".to_owned(),
            })?,
        };
        Ok(())
    }

    /// Returns the address that completes the upload.
    pub(super) fn completion(&self, blob: &Descriptor) -> Url {
        let mut url = self.location.clone();
        let digest = blob.digest.to_string();
        url.query_pairs_mut().append_pair("digest", &digest);
        url
    }
}

/// Returns the address of the next request of an upload, which may be on another host.
fn next_location(
    endpoint: &Endpoint,
    what: &str,
    response: &Response,
) -> Result<Url, RegistryError> {
    location(response.url(), response).map_err(|problem| RegistryError::Upload {
        registry: endpoint.host(),
        what: what.to_owned(),
        problem: problem.to_owned(),
    })
}

/// Returns the number of bytes in a range such as `0-99`, or `bytes=0-99`. Registries state `0-0`
/// for no bytes at all, and one byte alone is never worth resuming. `None` if it cannot be parsed.
fn received(range: &str) -> Option<u64> {
    let range = range.trim();
    let range = range.strip_prefix("bytes=").unwrap_or(range);
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    match (first, last) {
        (0, 0) => Some(0),
        (0, last) => last.checked_add(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_say_how_many_bytes_arrived() {
        for (range, bytes) in [
            ("0-0", Some(0)),
            ("0-99", Some(100)),
            ("bytes=0-99", Some(100)),
            (" 0 - 9 ", Some(10)),
            ("5-9", None),
            ("0-18446744073709551615", None),
            ("0--1", None),
            ("0", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(received(range), bytes, "{range}");
        }
    }
}
