//! A registry with one blob, and downloads of it.

use std::sync::Arc;

use bytes::Bytes;
use oci_image::Reference;
use oci_registry::{
    BlobSource, Client, Credential, CredentialSource, PARTS_IN_FLIGHT, Registries, RegistryError,
    RegistryLimits, Repository,
};
use testkit::registry::{Answer, Request, Server};
use tokio::sync::mpsc;

use crate::support::{BLOB_BYTES, Honest, descriptor, noise, quick};

/// Length of the ranges, in bytes. The blob has 10 of them.
pub(super) const RANGE_BYTES: usize = 100_000;

/// Returns limits with short times and small ranges.
pub(super) fn in_ranges() -> RegistryLimits {
    RegistryLimits {
        range_from_bytes: 200_000,
        range_bytes: RANGE_BYTES as u64,
        range_memory_bytes: 5 * RANGE_BYTES as u64,
        ..quick()
    }
}

/// Returns a repository at an address.
pub(super) async fn repository_at(
    address: impl std::fmt::Display,
    limits: &RegistryLimits,
    registries: &Registries,
    credentials: &CredentialSource,
) -> Repository {
    let client = Client {
        // A registry that speaks TLS is one whose authority is named.
        plain_http: registries.authorities.is_none(),
        credentials,
        registries,
        limits,
        listener: Arc::new(()),
    };
    let name = format!("{address}/team/app:1");
    let reference: Reference = name.parse().expect("a reference");
    let repository = Repository::connect(&client, &reference).await;
    repository.expect("a repository")
}

/// Returns the bytes of a blob that a source sends.
pub(super) async fn bytes_from(source: &BlobSource, blob: &[u8]) -> Result<Bytes, RegistryError> {
    let (sender, mut parts) = mpsc::channel::<Bytes>(PARTS_IN_FLIGHT);
    let blob = descriptor(blob);
    let reading = async {
        let mut bytes = Vec::new();
        while let Some(part) = parts.recv().await {
            bytes.extend_from_slice(&part);
        }
        bytes
    };
    let (downloaded, bytes) = tokio::join!(source.download(&blob, sender), reading);
    downloaded.map(|()| bytes.into())
}

/// A registry with one blob.
pub(super) struct Origin {
    pub(super) server: Server,
    pub(super) blob: Bytes,
    pub(super) limits: RegistryLimits,
    pub(super) credentials: CredentialSource,
}

impl Origin {
    pub(super) async fn honest() -> Self {
        Self::serving(|_, honest| honest()).await
    }

    /// Starts a registry that changes its honest answers.
    pub(super) async fn serving(
        serve: impl Fn(&Request, Honest<'_>) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let blob = noise(BLOB_BYTES);
        let bytes = blob.clone();
        let handler = move |request: &Request| serve(request, &|| Answer::blob(request, &bytes));
        Self {
            server: Server::new(handler).await,
            blob,
            limits: in_ranges(),
            credentials: CredentialSource::None,
        }
    }

    pub(super) fn with_password(mut self) -> Self {
        self.credentials = CredentialSource::Given(Credential::Password {
            username: "user".to_owned(),
            password: "pass".to_owned(),
        });
        self
    }

    pub(super) async fn repository(&self) -> Repository {
        let registries = Registries::default();
        let address = self.server.address;
        repository_at(address, &self.limits, &registries, &self.credentials).await
    }

    /// Downloads the blob.
    pub(super) async fn download(&self) -> Result<Bytes, RegistryError> {
        let repository = self.repository().await;
        let sources = repository.sources(&descriptor(&self.blob));
        bytes_from(&sources[0], &self.blob).await
    }

    /// Downloads the blob, which must be right.
    pub(super) async fn assert_good(&self, name: &str) {
        let downloaded = self.download().await;
        let bytes = downloaded.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(bytes == self.blob, "{name}: other bytes");
    }

    /// Returns the ranges of all requests for the blob so far, in order; empty for the whole blob.
    pub(super) fn ranges(&self) -> Vec<String> {
        let requests = self.server.requests().into_iter();
        let blobs = requests.filter(|request| request.path.contains("/blobs/"));
        blobs
            .map(|mut request| request.headers.remove("range").unwrap_or_default())
            .collect()
    }
}

/// Returns the header that asks for the range of this number.
pub(super) fn range(index: usize) -> String {
    let start = index * RANGE_BYTES;
    format!("bytes={start}-{}", start + RANGE_BYTES - 1)
}

/// Returns true for requests for the first range.
pub(super) fn is_first(request: &Request) -> bool {
    request
        .headers
        .get("range")
        .is_some_and(|text| *text == range(0))
}

/// Returns true for requests for a range with an end.
pub(super) fn is_closed(request: &Request) -> bool {
    let range = request.headers.get("range");
    range.is_some_and(|text| !text.ends_with('-'))
}
