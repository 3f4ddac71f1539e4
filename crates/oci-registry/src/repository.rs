use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use oci_image::{Descriptor, Digest, Image, Platform, Reference};

use super::address::Address;
use super::blob::BlobSource;
use super::blob_address::BlobAddress;
use super::client::Client;
use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::ranges::Quota;
use super::retry_listener::{Retry, RetryListener};

/// A repository: its mirrors in order, then the registry itself.
#[derive(Debug)]
pub struct Repository {
    endpoints: Vec<Arc<Endpoint>>,
    /// Connections and memory of all downloads of blobs.
    quota: Quota,
    listener: Arc<dyn RetryListener>,
    /// Addresses of layers outside of the registry, by digest.
    elsewhere: OnceLock<BTreeMap<Digest, Vec<String>>>,
}

impl Repository {
    /// Returns the repository that `reference` names. The only requests are for credentials and, on
    /// the loopback interface, to detect TLS.
    ///
    /// # Errors
    /// If the settings name something that cannot be read or used, or no credential can be had.
    pub async fn connect(
        client: &Client<'_>,
        reference: &Reference,
    ) -> Result<Self, RegistryError> {
        let settings = client.registries.settings_for(reference.registry());
        let mirrors = settings.mirrors.iter();
        let mut addresses: Vec<Address> = mirrors
            .map(|mirror| Address::from_mirror(mirror, client.registries))
            .collect();
        let plain_http = client.plain_http;
        addresses.push(Address::from_reference(
            reference,
            plain_http,
            client.registries,
        ));
        let mut endpoints = Vec::new();
        for address in &addresses {
            let endpoint = Endpoint::new(address, client, reference.repository());
            endpoints.push(Arc::new(endpoint.await?));
        }
        Ok(Self {
            endpoints,
            quota: Quota::new(client.limits),
            listener: Arc::clone(&client.listener),
            elsewhere: OnceLock::new(),
        })
    }

    /// Returns the image of `reference` for the platform, with checked documents. It comes from the
    /// first mirror that has it, otherwise from the registry.
    ///
    /// # Errors
    /// If neither a mirror nor the registry delivers valid documents.
    pub async fn image(
        &self,
        reference: &Reference,
        wanted: &Platform,
    ) -> Result<Image, RegistryError> {
        let mut outcome = Err(RegistryError::Abandoned);
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            if let Err(error) = &outcome
                && index > 0
            {
                self.going_on(&reference.familiar(), error);
            }
            outcome = endpoint.image(reference, wanted).await;
            if outcome.is_ok() {
                break;
            }
        }
        let (image, elsewhere) = outcome?;
        // A `Repository` resolves a single image.
        let _ = self.elsewhere.set(elsewhere);
        Ok(image)
    }

    /// Returns the sources of a blob, in the order in which to try them.
    pub fn sources(&self, blob: &Descriptor) -> Vec<BlobSource> {
        let here = self.endpoints.iter().map(|endpoint| (endpoint, None));
        let elsewhere = self.elsewhere.get().and_then(|all| all.get(&blob.digest));
        let own = self.endpoints.last();
        let elsewhere = elsewhere
            .into_iter()
            .flatten()
            .zip(own.into_iter().cycle())
            .map(|(address, endpoint)| (endpoint, Some(address.clone())));
        let source = |(endpoint, elsewhere): (&Arc<Endpoint>, Option<String>)| {
            let endpoint = Arc::clone(endpoint);
            let address = BlobAddress {
                endpoint,
                elsewhere,
            };
            BlobSource::new(address, self.quota.clone())
        };
        here.chain(elsewhere).map(source).collect()
    }

    /// Reports that the next source is tried.
    pub fn going_on(&self, what: &str, error: &dyn std::error::Error) {
        self.listener.retrying(&Retry {
            what,
            reason: &error.to_string(),
            after: std::time::Duration::ZERO,
        });
    }
}
