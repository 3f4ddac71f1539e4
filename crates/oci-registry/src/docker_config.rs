//! Docker's `config.json`, as far as it is about credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

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
    /// Path of the file.
    #[serde(skip)]
    path: PathBuf,
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
            Ok(bytes) => match serde_json::from_slice::<Self>(&bytes) {
                Ok(config) => Ok(Some(Self {
                    path: path.to_owned(),
                    ..config
                })),
                Err(source) => Err(CredentialsError::Parse {
                    path: path.to_owned(),
                    source,
                }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CredentialsError::Io(error)),
        }
    }

    /// Returns the entry of a registry as a whole; `None` if it has none.
    fn of_registry(&self, registry: &str) -> Option<&Auth> {
        let exact = self.auths.get(key(registry));
        exact.or_else(|| {
            let mut auths = self.auths.iter();
            auths.find(|(key, _)| is_of(key, registry)).map(|it| it.1)
        })
    }

    /// Returns the entry with the longest path that a repository is in; `None` if there is none.
    fn of_repository(&self, registry: &str, repository: &str) -> Option<&Auth> {
        let auths = self.auths.iter().filter_map(|(key, auth)| {
            let path = repositories(key).filter(|_| host(key) == host(registry))?;
            let rest = repository.strip_prefix(path)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((path.len(), auth))
        });
        auths.max_by_key(|(length, _)| *length).map(|it| it.1)
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

    /// Returns the credential for a repository of a registry, or for the registry if it is `None`;
    /// `None` if there is none. Podman's entries of some repositories, such as `quay.io/team`, come
    /// first (containers-auth.json(5)).
    pub(super) async fn find(
        &self,
        registry: &str,
        repository: Option<&str>,
    ) -> Result<Option<Credential>, CredentialsError> {
        let of_repository = repository.and_then(|it| self.of_repository(registry, it));
        if let Some(helper) = self
            .own_helper(registry)
            .filter(|_| of_repository.is_none())
        {
            return self.ask(&helper, registry).await;
        }
        let own = of_repository
            .or_else(|| self.of_registry(registry))
            .map(|auth| auth.credential(registry))
            .transpose()?
            .flatten();
        match (own, self.store()) {
            (None, Some(store)) => self.ask(&store, registry).await,
            (own, _) => Ok(own),
        }
    }

    /// Asks a helper for the credential of a registry.
    async fn ask(
        &self,
        helper: &CredentialHelper,
        registry: &str,
    ) -> Result<Option<Credential>, CredentialsError> {
        match helper.get(key(registry)).await {
            Err(CredentialsError::Helper { helper, source })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                // Docker leaves an empty entry in the file for each login that a helper keeps.
                Err(CredentialsError::HelperMissing {
                    helper,
                    config: self.path.clone(),
                    has_login: self.of_registry(registry).is_some(),
                })
            }
            outcome => outcome,
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

/// Returns true if a key of the config is a registry's, in any form of its name.
pub(super) fn is_of(key: &str, registry: &str) -> bool {
    host(key) == host(registry) && repositories(key).is_none()
}

/// Returns the path in a key such as `quay.io/team`, which is podman's for some of the registry's
/// repositories; `None` for the key of a whole registry.
fn repositories(key: &str) -> Option<&str> {
    if key.contains("://") {
        return None;
    }
    let (_, path) = key.split_once('/')?;
    let path = path.trim_end_matches('/');
    // Old forms of docker's keys have the version of the protocol.
    (!matches!(path, "" | "v1" | "v2")).then_some(path)
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
        config(json).find(registry, None).await.expect("an answer")
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
    async fn an_entry_of_some_repositories_is_for_them_alone() {
        let entry = |name: &str| format!(r#"{{"username":"{name}","password":"p"}}"#);
        let json = format!(
            r#"{{"auths":{{"quay.io/team":{},"quay.io/team/app":{},"quay.io":{},"a.io/b":{}}}}}"#,
            entry("team"),
            entry("app"),
            entry("all"),
            entry("b")
        );
        let config = config(&json);
        for (registry, repository, expected) in [
            ("quay.io", Some("team/other"), Some("team")),
            ("quay.io", Some("team"), Some("team")),
            ("quay.io", Some("team/app"), Some("app")),
            ("quay.io", Some("team/app/deep"), Some("app")),
            ("quay.io", Some("teams/app"), Some("all")),
            ("quay.io", None, Some("all")),
            ("a.io", Some("b/c"), Some("b")),
            ("a.io", Some("c"), None),
            ("a.io", None, None),
        ] {
            let found = config.find(registry, repository).await.expect("an answer");
            let expected = expected.and_then(|name| password(name, "p"));
            assert_eq!(found, expected, "{registry} {repository:?}");
        }
    }

    #[tokio::test]
    async fn broken_entries_and_missing_helpers_are_named() {
        let broken = config(r#"{"auths":{"a.io":{"auth":"%%%"}}}"#);
        let error = broken
            .find("a.io", None)
            .await
            .expect_err("broken")
            .to_string();
        assert!(error.contains("a.io"), "{error}");
        let missing = r#"{"credHelpers":{"a.io":"msb-has-no-such-helper"},"credsStore":"msb-has-none","auths":{"b.io":{}}}"#;
        for (registry, expected) in [("a.io", false), ("b.io", true), ("c.io", false)] {
            let found = config(missing).find(registry, None).await;
            let has_login = match found {
                Err(CredentialsError::HelperMissing { has_login, .. }) => has_login,
                other => panic!("{registry}: {other:?}"),
            };
            assert_eq!(has_login, expected, "{registry}");
        }
        let none = config(r#"{"credHelpers":{"a.io":""},"credsStore":""}"#);
        assert!(none.helper("a.io").is_none());
        let path = config(r#"{"credsStore":"../../bin/sh"}"#);
        assert!(matches!(
            path.find("a.io", None).await,
            Err(CredentialsError::HelperName { .. })
        ));
    }
}
