//! Docker's credential helpers: programs that keep credentials, named `docker-credential-*`.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use oci_image::excerpt;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, Command};

use super::credentials::{Credential, CredentialsError};

/// Timeout for a credential helper. It may ask the user, who finds the window within 30 s; a helper that
/// waits for a desktop that does not exist is then killed.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest output of a helper, in bytes.
const ANSWER_MAX_BYTES: u64 = 1 << 20;
/// The most bytes of a helper's standard error that are kept: one line of a message.
const STDERR_MAX_BYTES: usize = 1024;
/// Name of the user whose password is an identity token.
const TOKEN_USER: &str = "<token>";
/// Part of the message of a helper that has no credential for a registry.
const NOT_FOUND: &str = "credentials not found";

/// A credential helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CredentialHelper {
    /// Name without `docker-credential-`.
    name: String,
    /// File name of the program, which is found in `$PATH`.
    program: PathBuf,
    timeout: Duration,
}

/// The end of a helper's run.
struct Answer {
    has_succeeded: bool,
    stdout: Vec<u8>,
}

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
        (!name.is_empty()).then(|| Self {
            name: name.to_owned(),
            program: format!("docker-credential-{name}").into(),
            timeout: TIMEOUT,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
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
        if !self.name.bytes().all(plain) {
            return Err(CredentialsError::HelperName {
                helper: excerpt(&self.name),
            });
        }
        let mut stderr = Vec::new();
        let answer = tokio::time::timeout(self.timeout, self.run(action, input, &mut stderr)).await;
        let answer = match answer {
            Ok(answer) => answer.map_err(|error| self.cannot(error))?,
            Err(_) => {
                return Err(CredentialsError::HelperTimeout {
                    helper: self.name.clone(),
                    timeout_s: self.timeout.as_secs(),
                    message: message(&[], &stderr),
                });
            }
        };
        if answer.has_succeeded {
            return Ok(Some(answer.stdout));
        }
        if String::from_utf8_lossy(&answer.stdout).contains(NOT_FOUND) {
            return Ok(None);
        }
        Err(CredentialsError::HelperFailed {
            helper: self.name.clone(),
            message: message(&answer.stdout, &stderr),
        })
    }

    /// Runs the helper, which is killed if the future is dropped. What it writes to standard error
    /// is kept from the moment that it comes.
    async fn run(&self, action: &str, input: &[u8], stderr: &mut Vec<u8>) -> io::Result<Answer> {
        let mut child = Command::new(&self.program)
            .arg(action)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (stdin, mut stdout) = (child.stdin.take(), Vec::new());
        let write = async {
            if let Some(mut stdin) = stdin {
                // If the helper does not read its input, its exit status reports the failure.
                let _ = stdin.write_all(input).await;
            }
        };
        let answer = child.stdout.take();
        let read = async {
            match answer {
                Some(answer) => answer.take(ANSWER_MAX_BYTES).read_to_end(&mut stdout).await,
                None => Ok(0),
            }
        };
        let (_, read, errors) = tokio::join!(write, read, keep(child.stderr.take(), stderr));
        read.and(errors)?;
        Ok(Answer {
            has_succeeded: child.wait().await?.success(),
            stdout,
        })
    }

    fn cannot(&self, source: io::Error) -> CredentialsError {
        CredentialsError::Helper {
            helper: self.name.clone(),
            source,
        }
    }
}

/// Reads a helper's standard error to its end, and keeps the beginning.
async fn keep(stderr: Option<ChildStderr>, kept: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut stderr) = stderr else {
        return Ok(());
    };
    let mut buffer = [0; 1024];
    loop {
        let count = stderr.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        let room = STDERR_MAX_BYTES.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
}

/// Returns what a helper says of its failure, on one line.
fn message(stdout: &[u8], stderr: &[u8]) -> String {
    let said = [stdout, stderr].map(|bytes| excerpt(String::from_utf8_lossy(bytes).trim()));
    let said: Vec<&str> = said
        .iter()
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    match said[..] {
        [] => String::new(),
        _ => format!(": {}", said.join("; ")),
    }
}

#[cfg(test)]
mod tests;
