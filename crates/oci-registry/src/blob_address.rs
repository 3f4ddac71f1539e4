use std::fmt;
use std::sync::Arc;

use oci_image::{Descriptor, excerpt};
use reqwest::{Response, Url};

use super::endpoint::{Endpoint, Request};
use super::error::RegistryError;
use super::requested_bytes::RequestedBytes;
use super::transport::without_credentials;

/// The place of a blob: a repository, or an address in the manifest.
#[derive(Debug, Clone)]
pub(super) struct BlobAddress {
    /// The repository, whose transport is used for the address in the manifest, too.
    pub(super) endpoint: Arc<Endpoint>,
    /// Address in the manifest; `None` for the repository itself.
    pub(super) elsewhere: Option<String>,
}

impl fmt::Display for BlobAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.elsewhere {
            Some(address) => formatter.write_str(&excerpt(address)),
            None => formatter.write_str(&self.endpoint.host()),
        }
    }
}

impl BlobAddress {
    /// Requests bytes of a blob, called `what` in messages. Returns a successful response.
    ///
    /// Each request begins at the registry, which redirects it anew: an address that it gave for an
    /// earlier one may have expired.
    pub(super) async fn request(
        &self,
        blob: &Descriptor,
        what: &str,
        bytes: RequestedBytes,
    ) -> Result<Response, RegistryError> {
        if let Some(address) = &self.elsewhere {
            let url = foreign_url(address)?;
            return self.endpoint.get_elsewhere(what, &url, bytes).await;
        }
        let request = Request {
            path: format!("blobs/{}", blob.digest),
            what,
            accept: None,
            bytes,
        };
        self.endpoint.get(&request).await
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
