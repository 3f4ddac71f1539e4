//! Docker's credential helpers: programs that keep credentials, named `docker-credential-*`.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use oci_image::excerpt;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::credentials::{Credential, CredentialsError};

/// Timeout for a credential helper, which may ask the user.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Longest output of a helper, in bytes.
const ANSWER_MAX_BYTES: u64 = 1 << 20;
/// Name of the user whose password is an identity token.
const TOKEN_USER: &str = "<token>";
/// Part of the message of a helper that has no credential for a registry.
const NOT_FOUND: &str = "credentials not found";

/// A helper, by its name without `docker-credential-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CredentialHelper(String);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    username: String,
    secret: String,
}

#[derive(Serialize)]
struct Kept<'a> {
    #[serde(rename = "ServerURL")]
    server_url: &'a str,
    #[serde(rename = "Username")]
    username: &'a str,
    #[serde(rename = "Secret")]
    secret: &'a str,
}

impl CredentialHelper {
    /// Returns the helper with this name; `None` for an empty name, which stands for none.
    pub(super) fn named(name: &str) -> Option<Self> {
        (!name.is_empty()).then(|| Self(name.to_owned()))
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Returns the credential for a key; `None` if the helper has none.
    pub(super) async fn get(&self, key: &str) -> Result<Option<Credential>, CredentialsError> {
        let Some(output) = self.ask("get", key.as_bytes()).await? else {
            return Ok(None);
        };
        let found: Found =
            serde_json::from_slice(&output).map_err(|error| self.cannot(error.into()))?;
        Ok(Some(match found.username.as_str() {
            TOKEN_USER => Credential::IdentityToken(found.secret),
            _ => Credential::Password {
                username: found.username,
                password: found.secret,
            },
        }))
    }

    /// Keeps a credential for a key.
    pub(super) async fn store(
        &self,
        key: &str,
        credential: &Credential,
    ) -> Result<(), CredentialsError> {
        let (username, secret) = match credential {
            Credential::Password { username, password } => (username.as_str(), password),
            Credential::IdentityToken(token) => (TOKEN_USER, token),
        };
        let kept = Kept {
            server_url: key,
            username,
            secret,
        };
        let input = serde_json::to_vec(&kept).map_err(|error| self.cannot(error.into()))?;
        self.ask("store", &input).await.map(drop)
    }

    /// Removes the credential for a key. Returns false if the helper has none.
    pub(super) async fn erase(&self, key: &str) -> Result<bool, CredentialsError> {
        Ok(self.ask("erase", key.as_bytes()).await?.is_some())
    }

    /// Runs the helper. Returns its output; `None` if it has no credential.
    async fn ask(&self, action: &str, input: &[u8]) -> Result<Option<Vec<u8>>, CredentialsError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !self.0.bytes().all(plain) {
            return Err(CredentialsError::HelperName {
                helper: excerpt(&self.0),
            });
        }
        let late = |_| self.cannot(io::ErrorKind::TimedOut.into());
        let answer = tokio::time::timeout(TIMEOUT, self.run(action, input));
        let (succeeded, output) = answer
            .await
            .map_err(late)?
            .map_err(|error| self.cannot(error))?;
        if succeeded {
            return Ok(Some(output));
        }
        let message = String::from_utf8_lossy(&output);
        if message.contains(NOT_FOUND) {
            return Ok(None);
        }
        Err(CredentialsError::HelperFailed {
            helper: self.0.clone(),
            message: excerpt(message.trim()),
        })
    }

    async fn run(&self, action: &str, input: &[u8]) -> io::Result<(bool, Vec<u8>)> {
        let mut child = Command::new(format!("docker-credential-{}", self.0))
            .arg(action)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // If the helper does not read its input, its exit status reports the failure.
            let _ = stdin.write_all(input).await;
        }
        let mut output = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout
                .take(ANSWER_MAX_BYTES)
                .read_to_end(&mut output)
                .await?;
        }
        Ok((child.wait().await?.success(), output))
    }

    fn cannot(&self, source: io::Error) -> CredentialsError {
        CredentialsError::Helper {
            helper: self.0.clone(),
            source,
        }
    }
}
