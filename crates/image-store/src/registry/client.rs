use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::address::Address;
use super::blob::BlobSource;
use super::credentials::{Credential, CredentialSource};
use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::limits::RegistryLimits;
use super::settings::Registries;
use crate::digest::Digest;
use crate::image::{Descriptor, Image};
use crate::platform::Platform;
use crate::progress::{Event, Progress};
use crate::reference::Reference;

/// Settings for access to one repository.
#[derive(Debug)]
pub(crate) struct Client<'a> {
    pub(crate) repository: String,
    pub(crate) plain_http: bool,
    pub(crate) credentials: &'a CredentialSource,
    pub(crate) registries: &'a Registries,
    pub(crate) limits: &'a RegistryLimits,
    pub(crate) progress: Arc<dyn Progress>,
}

/// A repository: its mirrors in order, then the registry itself.
#[derive(Debug)]
pub(crate) struct Registry {
    endpoints: Vec<Endpoint>,
    progress: Arc<dyn Progress>,
    /// Addresses of layers outside of the registry, by digest.
    elsewhere: OnceLock<BTreeMap<Digest, Vec<String>>>,
}

impl Client<'_> {
    /// Returns the repository that `reference` names. The only requests are for credentials and, on
    /// the loopback interface, to detect TLS.
    pub(crate) async fn connect(&self, reference: &Reference) -> Result<Registry, RegistryError> {
        let settings = self.registries.of(reference.registry());
        let mirrors = settings.mirrors.iter();
        let mut addresses: Vec<Address> = mirrors
            .map(|mirror| Address::of_mirror(mirror, self.registries))
            .collect();
        addresses.push(Address::of(reference, self.plain_http, self.registries));
        let mut endpoints = Vec::new();
        for address in &addresses {
            endpoints.push(Endpoint::new(address, self).await?);
        }
        Ok(Registry {
            endpoints,
            progress: Arc::clone(&self.progress),
            elsewhere: OnceLock::new(),
        })
    }

    /// Returns the credential for a host; `None` if there is none. A credential that the user gave
    /// is for the registry itself, not for its mirrors.
    pub(super) async fn credential(
        &self,
        address: &Address,
    ) -> Result<Option<Credential>, RegistryError> {
        if address.is_mirror && matches!(self.credentials, CredentialSource::Given(_)) {
            return Ok(None);
        }
        let found = self.credentials.find(&address.name).await;
        found.map_err(|source| RegistryError::Credentials {
            registry: address.name.clone(),
            source,
        })
    }
}

impl Registry {
    /// Returns the image of `reference` for the platform, with checked documents. It comes from the
    /// first mirror that has it, otherwise from the registry.
    pub(crate) async fn image(
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
        // A `Registry` resolves a single image.
        let _ = self.elsewhere.set(elsewhere);
        Ok(image)
    }

    /// Returns the sources of a blob, in the order in which to try them.
    pub(crate) fn sources(&self, blob: &Descriptor) -> Vec<BlobSource<'_>> {
        let here = self.endpoints.iter().map(BlobSource::of);
        let elsewhere = self.elsewhere.get().and_then(|all| all.get(&blob.digest));
        let own = self.endpoints.last();
        let elsewhere = elsewhere
            .into_iter()
            .flatten()
            .zip(own.into_iter().cycle())
            .map(|(address, endpoint)| BlobSource::elsewhere(endpoint, address));
        here.chain(elsewhere).collect()
    }

    /// Reports that the next source is tried.
    pub(crate) fn going_on(&self, what: &str, error: &dyn std::error::Error) {
        self.progress.event(&Event::Retrying {
            what,
            reason: &error.to_string(),
            after: std::time::Duration::ZERO,
        });
    }
}
