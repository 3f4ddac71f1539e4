use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use fs_err as fs;
use oci_image::excerpt;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Timeout for a credential helper, which may ask the user.
const HELPER_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest output of a helper, in bytes.
const HELPER_ANSWER_MAX_BYTES: u64 = 1 << 20;
/// Key of Docker Hub's credentials in the docker config.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Credential for a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// User name and password; the password may be a token.
    Password {
        /// Name of the user.
        username: String,
        /// Password, or a token in its place.
        password: String,
    },
    /// OAuth 2 refresh token.
    IdentityToken(String),
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Password { username, .. } => write!(formatter, "Password({username}, …)"),
            Self::IdentityToken(_) => formatter.write_str("IdentityToken(…)"),
        }
    }
}

/// Source of credentials.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CredentialSource {
    /// The docker config in `$DOCKER_CONFIG`, or else in `~/.docker`.
    #[default]
    Environment,
    /// The docker config in this directory.
    Directory(PathBuf),
    /// This credential, for the registry itself.
    Given(Credential),
    /// No credentials: all requests are anonymous.
    None,
}

/// An error while credentials are looked up.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The docker config cannot be read.
    #[error("cannot read the docker config")]
    Io(#[source] io::Error),
    /// The docker config is not in docker's format.
    #[error("cannot parse the docker config {}", .path.display())]
    Parse {
        /// Path of the config.
        path: PathBuf,
        /// Cause, with its position in the file.
        #[source]
        source: serde_json::Error,
    },
    /// The `auth` of an entry is not `user:password` in base64.
    #[error("cannot decode the entry for {registry} in the docker config")]
    Entry {
        /// Registry of the entry.
        registry: String,
    },
    /// The config contains an invalid name of a helper.
    #[error("'{helper}' is not the name of a credential helper")]
    HelperName {
        /// The name, shortened and escaped.
        helper: String,
    },
    /// A helper could not be run.
    #[error("cannot run the credential helper docker-credential-{helper}")]
    Helper {
        /// Name of the helper, without `docker-credential-`.
        helper: String,
        /// Cause reported by the host, or by the parser of the helper's output.
        #[source]
        source: io::Error,
    },
    /// A helper reported a failure.
    #[error("the credential helper docker-credential-{helper} failed: {message}")]
    HelperFailed {
        /// Name of the helper, without `docker-credential-`.
        helper: String,
        /// Output of the helper, shortened and escaped.
        message: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DockerConfig {
    auths: BTreeMap<String, Auth>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Auth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: String,
}

/// Returns the registries for which the user's docker config has credentials or a helper.
///
/// # Errors
/// If the config exists and cannot be read.
pub fn configured_registries() -> Result<Vec<String>, CredentialsError> {
    let Some(config) = read(directory().as_deref())? else {
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

impl CredentialSource {
    /// Returns the credential for `registry`; `None` if there is none.
    pub(super) async fn find(
        &self,
        registry: &str,
    ) -> Result<Option<Credential>, CredentialsError> {
        let directory = match self {
            Self::None => return Ok(None),
            Self::Given(credential) => return Ok(Some(credential.clone())),
            Self::Directory(directory) => Some(directory.clone()),
            Self::Environment => directory(),
        };
        match read(directory.as_deref())? {
            Some(config) => config.find(registry).await,
            None => Ok(None),
        }
    }
}

impl DockerConfig {
    async fn find(&self, registry: &str) -> Result<Option<Credential>, CredentialsError> {
        let key = if host(registry) == host(DOCKER_HUB_KEY) {
            DOCKER_HUB_KEY
        } else {
            registry
        };
        let helper = self.cred_helpers.get(key).or_else(|| {
            self.cred_helpers
                .iter()
                .find(|(key, _)| host(key) == host(registry))
                .map(|(_, it)| it)
        });
        if let Some(helper) = helper.filter(|helper| !helper.is_empty()) {
            return ask(helper, key).await;
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
        match (own, self.creds_store.as_deref()) {
            (None, Some(store)) if !store.is_empty() => ask(store, key).await,
            (own, _) => Ok(own),
        }
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

fn directory() -> Option<PathBuf> {
    std::env::var_os("DOCKER_CONFIG")
        .filter(|directory| !directory.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".docker")))
}

fn read(directory: Option<&Path>) -> Result<Option<DockerConfig>, CredentialsError> {
    let Some(path) = directory.map(|directory| directory.join("config.json")) else {
        return Ok(None);
    };
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|source| CredentialsError::Parse { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CredentialsError::Io(error)),
    }
}

/// Returns the host in a key of the config, which may be a URL. The hosts of Docker Hub all become
/// `docker.io`.
fn host(key: &str) -> &str {
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

/// Runs `docker-credential-HELPER get`, as docker does; `None` if the helper has no credential.
async fn ask(helper: &str, key: &str) -> Result<Option<Credential>, CredentialsError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !helper.bytes().all(plain) {
        return Err(CredentialsError::HelperName {
            helper: excerpt(helper),
        });
    }
    let cannot = |source| CredentialsError::Helper {
        helper: helper.to_owned(),
        source,
    };
    let late = |_| cannot(io::ErrorKind::TimedOut.into());
    let answer = tokio::time::timeout(HELPER_TIMEOUT, run(helper, key))
        .await
        .map_err(late)?;
    let (succeeded, output) = answer.map_err(cannot)?;
    let said = String::from_utf8_lossy(&output);
    if !succeeded {
        if said.contains("credentials not found") {
            return Ok(None);
        }
        let message = excerpt(said.trim());
        return Err(CredentialsError::HelperFailed {
            helper: helper.to_owned(),
            message,
        });
    }
    let answer: HelperAnswer =
        serde_json::from_slice(&output).map_err(|error| cannot(error.into()))?;
    Ok(Some(match answer.username.as_str() {
        "<token>" => Credential::IdentityToken(answer.secret),
        _ => Credential::Password {
            username: answer.username,
            password: answer.secret,
        },
    }))
}

async fn run(helper: &str, key: &str) -> io::Result<(bool, Vec<u8>)> {
    let mut child = Command::new(format!("docker-credential-{helper}"))
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // If the helper does not read its input, its exit status reports the failure.
        let _ = stdin.write_all(key.as_bytes()).await;
    }
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout
            .take(HELPER_ANSWER_MAX_BYTES)
            .read_to_end(&mut output)
            .await?;
    }
    Ok((child.wait().await?.success(), output))
}

/// Returns user name and password as a header; `None` if they are not valid in a header.
pub(super) fn basic_header(username: &str, password: &str) -> Option<HeaderValue> {
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}"));
    let mut header = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    header.set_sensitive(true);
    Some(header)
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
        let path = config(r#"{"credsStore":"../../bin/sh"}"#);
        assert!(matches!(
            path.find("a.io").await,
            Err(CredentialsError::HelperName { .. })
        ));
    }
}
