use std::sync::Arc;

use diagnosis::Diagnose as _;

use super::address::Address;
use super::credentials::{Credential, CredentialSource, CredentialsError};
use super::error::RegistryError;
use super::limits::RegistryLimits;
use super::retry_listener::RetryListener;
use super::settings::Registries;

/// Settings for access to one repository.
#[derive(Debug)]
pub struct Client<'a> {
    /// True to use HTTP without TLS. Registries on the loopback interface are asked whether they
    /// speak TLS.
    pub plain_http: bool,
    /// Source of the credentials.
    pub credentials: &'a CredentialSource,
    /// Mirrors, proxies and certificates.
    pub registries: &'a Registries,
    /// Timeouts, retries and size limits.
    pub limits: &'a RegistryLimits,
    /// Receiver of the notices that a request is repeated.
    pub listener: Arc<dyn RetryListener>,
}

impl Client<'_> {
    /// Returns the credential for a repository of a host, or for the host if it is `None`; `None` if
    /// there is none. A credential that the user gave is for the registry itself, not for its
    /// mirrors.
    pub(super) async fn credential(
        &self,
        address: &Address,
        repository: Option<&str>,
    ) -> Result<Option<Credential>, RegistryError> {
        if address.is_mirror && matches!(self.credentials, CredentialSource::Given(_)) {
            return Ok(None);
        }
        let source = match self.credentials.find(&address.name, repository).await {
            Ok(found) => return Ok(found),
            Err(source) => source,
        };
        // As docker does: most images are public, and configs come from other machines.
        if let CredentialsError::HelperMissing {
            has_login: false, ..
        } = source
        {
            let remedy = source.diagnosis().advice().unwrap_or_default();
            let registry = &address.name;
            self.listener.warning(&format!(
                "{registry} is used without a login: {source}; {remedy}"
            ));
            return Ok(None);
        }
        Err(RegistryError::Credentials {
            registry: address.name.clone(),
            source,
        })
    }
}
