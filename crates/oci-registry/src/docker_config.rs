//! Docker's `config.json`, as far as it is about credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use fs_err as fs;
use oci_image::excerpt;
use serde::Deserialize;

use super::credential_helper::CredentialHelper;
use super::credentials::{Credential, CredentialsError, default_directory};

/// Name of the file.
pub(super) const FILE: &str = "config.json";
/// Key of Docker Hub's credentials in the docker config.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct DockerConfig {
    auths: BTreeMap<String, Auth>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(default)]
struct Auth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

/// Returns the registries for which the user's docker config has credentials or a helper.
///
/// # Errors
/// If the config exists and cannot be read.
pub fn configured_registries() -> Result<Vec<String>, CredentialsError> {
    let Some(config) = DockerConfig::read(default_directory().as_deref())? else {
        return Ok(Vec::new());
    };
    let mut registries: BTreeSet<String> = config
        .auths
        .keys()
        .chain(config.cred_helpers.keys())
        .map(|key| host(key).to_owned())
        .collect();
    if let Some(store) = config.creds_store.filter(|store| !store.is_empty()) {
        registries.insert(format!("the registries of docker-credential-{store}"));
    }
    Ok(registries.into_iter().collect())
}

impl DockerConfig {
    /// Reads the config of a directory; `None` if there is none.
    pub(super) fn read(directory: Option<&Path>) -> Result<Option<Self>, CredentialsError> {
        match directory {
            Some(directory) => Self::read_file(&directory.join(FILE)),
            None => Ok(None),
        }
    }

    /// Reads a config, whose file may have any name; `None` if there is none.
    pub(super) fn read_file(path: &Path) -> Result<Option<Self>, CredentialsError> {
        match fs::read(path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes)
                    .map(Some)
                    .map_err(|source| CredentialsError::Parse {
                        path: path.to_owned(),
                        source,
                    })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CredentialsError::Io(error)),
        }
    }

    /// Returns the helper that a registry has for itself; `None` if it has none.
    fn own_helper(&self, registry: &str) -> Option<CredentialHelper> {
        let exact = self.cred_helpers.get(key(registry));
        let helper = exact.or_else(|| {
            self.cred_helpers
                .iter()
                .find(|(key, _)| host(key) == host(registry))
                .map(|(_, it)| it)
        });
        CredentialHelper::named(helper?)
    }

    /// Returns the helper for all registries; `None` if there is none.
    fn store(&self) -> Option<CredentialHelper> {
        CredentialHelper::named(self.creds_store.as_deref()?)
    }

    /// Returns the helper that keeps the credential of a registry; `None` if the file keeps it.
    pub(super) fn helper(&self, registry: &str) -> Option<CredentialHelper> {
        self.own_helper(registry).or_else(|| self.store())
    }

    /// Returns the credential for a registry; `None` if there is none.
    pub(super) async fn find(
        &self,
        registry: &str,
    ) -> Result<Option<Credential>, CredentialsError> {
        let key = key(registry);
        if let Some(helper) = self.own_helper(registry) {
            return helper.get(key).await;
        }
        let exact = self.auths.get(key);
        let auth = exact.or_else(|| {
            self.auths
                .iter()
                .find(|(key, _)| host(key) == host(registry))
                .map(|it| it.1)
        });
        let own = auth
            .map(|auth| auth.credential(registry))
            .transpose()?
            .flatten();
        match (own, self.store()) {
            (None, Some(store)) => store.get(key).await,
            (own, _) => Ok(own),
        }
    }
}

/// Shows no secret.
impl std::fmt::Debug for Auth {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Auth").finish_non_exhaustive()
    }
}

impl Auth {
    fn credential(&self, registry: &str) -> Result<Option<Credential>, CredentialsError> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(token) = filled(&self.identitytoken) {
            return Ok(Some(Credential::IdentityToken(token)));
        }
        if let Some(auth) = filled(&self.auth) {
            let malformed = || CredentialsError::Entry {
                registry: excerpt(registry),
            };
            let bytes = BASE64.decode(auth.trim()).map_err(|_| malformed())?;
            let text = String::from_utf8(bytes).map_err(|_| malformed())?;
            let (username, password) = text.split_once(':').ok_or_else(malformed)?;
            return Ok(Some(Credential::Password {
                username: username.to_owned(),
                password: password.trim_end_matches('\0').to_owned(),
            }));
        }
        let pair = filled(&self.username).zip(filled(&self.password));
        Ok(pair.map(|(username, password)| Credential::Password { username, password }))
    }
}

/// Returns the key of a registry in the config, and for its helpers.
pub(super) fn key(registry: &str) -> &str {
    if host(registry) == host(DOCKER_HUB_KEY) {
        DOCKER_HUB_KEY
    } else {
        registry
    }
}

/// Returns the host in a key of the config, which may be a URL. The hosts of Docker Hub all become
/// `docker.io`.
pub(super) fn host(key: &str) -> &str {
    let rest = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key);
    let host = rest.split('/').next().unwrap_or(rest);
    match host {
        "index.docker.io" | "registry-1.docker.io" => "docker.io",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(json: &str) -> DockerConfig {
        serde_json::from_str(json).expect("a config")
    }

    async fn found(json: &str, registry: &str) -> Option<Credential> {
        config(json).find(registry).await.expect("an answer")
    }

    fn password(username: &str, password: &str) -> Option<Credential> {
        Some(Credential::Password {
            username: username.to_owned(),
            password: password.to_owned(),
        })
    }

    #[tokio::test]
    async fn entries_are_found_by_host() {
        let json = r#"{"auths":{"https://index.docker.io/v1/":{"auth":"dTpwOnE="},
            "http://localhost:5000/v2":{"username":"a","password":"b"},
            "ghcr.io":{"identitytoken":"t"},"empty.io":{}},"HttpHeaders":{}}"#;
        assert_eq!(found(json, "docker.io").await, password("u", "p:q"));
        assert_eq!(found(json, "localhost:5000").await, password("a", "b"));
        assert_eq!(
            found(json, "ghcr.io").await,
            Some(Credential::IdentityToken("t".to_owned()))
        );
        assert_eq!(found(json, "empty.io").await, None);
        assert_eq!(found(json, "localhost").await, None);
    }

    #[tokio::test]
    async fn broken_entries_and_missing_helpers_are_named() {
        let broken = config(r#"{"auths":{"a.io":{"auth":"%%%"}}}"#);
        let error = broken.find("a.io").await.expect_err("broken").to_string();
        assert!(error.contains("a.io"), "{error}");
        let helper = config(r#"{"credHelpers":{"a.io":"msb-has-no-such-helper"}}"#);
        assert!(matches!(
            helper.find("a.io").await,
            Err(CredentialsError::Helper { .. })
        ));
        let none = config(r#"{"credHelpers":{"a.io":""},"credsStore":""}"#);
        assert!(none.helper("a.io").is_none());
        let path = config(r#"{"credsStore":"../../bin/sh"}"#);
        assert!(matches!(
            path.find("a.io").await,
            Err(CredentialsError::HelperName { .. })
        ));
    }
}
