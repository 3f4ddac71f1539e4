use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use msb_client::{Error, Operation, Shared, blocking};
use oci_registry::{Client, CredentialSource, Registry, StoredIn};
use serde::{Deserialize, Serialize};

use super::SourceOptions;

/// The options of a login.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LoginOptions {
    /// The registry, as in the names of images, such as `ghcr.io`; Docker Hub if `None`.
    pub registry: Option<String>,
    /// Name of the user.
    pub username: String,
    /// Password of the user, or an access token in its place.
    pub password: String,
    /// True to use HTTP without TLS.
    pub plain_http: bool,
    /// File of certificate authorities to trust too, in PEM.
    pub tls_ca: Option<PathBuf>,
}

impl fmt::Debug for LoginOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginOptions")
            .field("registry", &self.registry)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// The result of a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggedIn {
    /// The registry, as in the names of images.
    pub registry: String,
    /// True if the registry accepted the password; false if it asked for none.
    pub is_checked: bool,
    /// The docker config that keeps the password, unencrypted; `None` if a credential helper does.
    pub file: Option<PathBuf>,
    /// The name of the credential helper that keeps the password, such as
    /// `docker-credential-pass`; `None` if the docker config does.
    pub helper: Option<String>,
}

/// The result of a logout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggedOut {
    /// The registry, as in the names of images.
    pub registry: String,
    /// True if a password was removed; false if there was none.
    pub was_logged_in: bool,
}

pub(crate) fn login(shared: Arc<Shared>, options: LoginOptions) -> Operation<LoggedIn> {
    Operation::new(async move {
        let registry = registry(options.registry.as_deref())?;
        let credential = registry.credential(&options.username, &options.password)?;
        let source = SourceOptions {
            plain_http: options.plain_http,
            tls_ca: options.tls_ca,
            ..SourceOptions::default()
        };
        let settings = blocking(move || source.pull_options(&shared)).await?;
        let client = Client {
            plain_http: settings.plain_http,
            credentials: &CredentialSource::Given(credential.clone()),
            registries: &settings.registries,
            limits: &settings.registry_limits,
            listener: Arc::new(()),
        };
        let is_checked = registry.check(&client).await?;
        let (file, helper) = match registry.keep(&credential, None).await? {
            StoredIn::File(path) => (Some(path), None),
            StoredIn::Helper(name) => (None, Some(format!("docker-credential-{name}"))),
        };
        Ok(LoggedIn {
            registry: registry.to_string(),
            is_checked,
            file,
            helper,
        })
    })
}

pub(crate) fn logout(name: Option<String>) -> Operation<LoggedOut> {
    Operation::new(async move {
        let registry = registry(name.as_deref())?;
        Ok(LoggedOut {
            was_logged_in: registry.forget(None).await?,
            registry: registry.to_string(),
        })
    })
}

fn registry(name: Option<&str>) -> Result<Registry, Error> {
    Ok(name.map(str::parse).transpose()?.unwrap_or_default())
}
