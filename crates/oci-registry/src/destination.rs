use std::sync::Arc;

use oci_image::{Descriptor, Digest, Reference};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response};

use super::address::Address;
use super::client::Client;
use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::retry::Failures;
use super::transport::{Outgoing, Payload, error_message, header};
use super::upload::{
    Begun, BlobBytes, UploadProgress, UploadSession, Uploader, begin, confirms, inquiry,
};

/// A repository to push to: that of the registry itself, never of a mirror.
///
/// A manifest makes an image visible, and so comes last: [`put_manifest`](Self::put_manifest) is
/// called once the config and every layer are [`Present`](BlobState::Present),
/// [`Mounted`](BlobState::Mounted) or [`uploaded`](Self::upload).
#[derive(Debug)]
pub struct Destination {
    endpoint: Endpoint,
}

/// State of a blob in a repository.
#[derive(Debug)]
pub enum BlobState {
    /// The repository has the blob.
    Present,
    /// The repository has the blob now, from another repository of the registry.
    Mounted,
    /// The blob has to be uploaded, in this session if the registry has begun one.
    Missing(Option<UploadSession>),
}

impl Destination {
    /// Returns the repository that `reference` names. `mountable` are other repositories of the same
    /// registry that blobs may be mounted from: a token is asked for their sake too. The only
    /// requests are for credentials and, on the loopback interface, to detect TLS.
    ///
    /// # Errors
    /// If the settings name something that cannot be read or used, or no credential can be had.
    pub async fn connect(
        client: &Client<'_>,
        reference: &Reference,
        mountable: &[String],
    ) -> Result<Self, RegistryError> {
        let address = Address::from_reference(reference, client.plain_http, client.registries);
        let repository = reference.repository();
        let endpoint = Endpoint::to_push(&address, client, repository, mountable).await?;
        Ok(Self { endpoint })
    }

    /// Returns the host with its port, for messages.
    pub fn host(&self) -> String {
        self.endpoint.host()
    }

    /// Looks for a blob, and mounts it from another repository of the registry if it is missing. A
    /// registry that refuses the mount awaits an upload; that is no error.
    ///
    /// # Errors
    /// If the registry does not answer whether it has the blob.
    pub async fn find_or_mount(
        &self,
        blob: &Descriptor,
        mount_from: Option<&str>,
    ) -> Result<BlobState, RegistryError> {
        let what = format!("blob {}", blob.digest);
        if self.has(blob, &what).await? {
            return Ok(BlobState::Present);
        }
        let Some(from) = mount_from else {
            return Ok(BlobState::Missing(None));
        };
        match begin(&self.endpoint, blob, &what, Some(from)).await {
            Ok(Begun::Mounted) => Ok(BlobState::Mounted),
            Ok(Begun::Session(session)) => Ok(BlobState::Missing(Some(session))),
            // Whatever the reason is, the request for an upload tells it better.
            Err(_) => Ok(BlobState::Missing(None)),
        }
    }

    /// Uploads a blob. An upload that breaks off continues where the registry says, or begins again;
    /// temporary failures are retried. The bytes are hashed on their way, and a blob that is not
    /// what its digest says is not published.
    ///
    /// # Errors
    /// If the registry refuses the blob or fails permanently, or the source fails.
    pub async fn upload(
        &self,
        blob: &Descriptor,
        source: Arc<dyn BlobBytes>,
        session: Option<UploadSession>,
        progress: Arc<dyn UploadProgress>,
    ) -> Result<(), RegistryError> {
        let uploader = Uploader::new(&self.endpoint, *blob, source, session, progress);
        uploader.run().await
    }

    /// Publishes a manifest under a tag or its own digest. Temporary failures are retried.
    ///
    /// # Errors
    /// If the registry refuses the manifest, fails permanently, or says that it stored another one.
    pub async fn put_manifest(
        &self,
        version: &str,
        media_type: &str,
        manifest: &[u8],
    ) -> Result<Digest, RegistryError> {
        let what = format!("manifest '{version}'");
        let digest = Digest::compute(manifest);
        let bad_type = |_| RegistryError::Upload {
            registry: self.host(),
            what: what.clone(),
            problem: "its media type is not valid in a header".to_owned(),
        };
        let media_type = HeaderValue::from_str(media_type).map_err(bad_type)?;
        let request = Outgoing {
            what: &what,
            method: Method::PUT,
            url: self.endpoint.url(&format!("manifests/{version}"))?,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, media_type)]),
            payload: Payload::Document(manifest.to_vec().into()),
        };
        let response = self.persist(&request, &[]).await?;
        let stated = header(response.headers(), "docker-content-digest");
        match stated.and_then(|text| text.parse().ok()) {
            Some(actual) if actual != digest => Err(RegistryError::StoredDigest {
                registry: self.host(),
                what,
                actual,
            }),
            _ => Ok(digest),
        }
    }

    async fn has(&self, blob: &Descriptor, what: &str) -> Result<bool, RegistryError> {
        let request = inquiry(&self.endpoint, blob, what)?;
        let response = self.persist(&request, &[404]).await?;
        Ok(confirms(&response, blob))
    }

    /// Sends a request, again while the registry fails temporarily. Returns a successful response,
    /// or one with a status of `expected`.
    async fn persist(
        &self,
        request: &Outgoing<'_>,
        expected: &[u16],
    ) -> Result<Response, RegistryError> {
        let mut failures = Failures::default();
        loop {
            let error = match self.attempt(request, expected).await {
                Err(error) if error.is_transient() => error,
                outcome => return outcome,
            };
            let limits = &self.endpoint.transport.limits;
            let Some(earlier) = failures.add(limits, &error, 0) else {
                return Err(error);
            };
            self.endpoint.pause(request.what, &error, earlier).await;
        }
    }

    async fn attempt(
        &self,
        request: &Outgoing<'_>,
        expected: &[u16],
    ) -> Result<Response, RegistryError> {
        let response = self.endpoint.call(request).await?;
        let status = response.status().as_u16();
        if expected.contains(&status) {
            return Ok(response);
        }
        if status == 404 {
            // A manifest that is refused for a blob is refused with this status, and a reason.
            return Err(RegistryError::Status {
                registry: self.host(),
                what: request.what.to_owned(),
                status,
                message: error_message(response, &self.endpoint.transport.limits).await,
                retry_after: None,
            });
        }
        self.endpoint.checked(request.what, response).await
    }
}
