use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use diagnosis::{Diagnose, Diagnosis};
use reqwest::header::HeaderValue;

use super::docker_config::DockerConfig;

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
    /// A member of the docker config is not what docker makes it.
    #[error("'{member}' in the docker config {} is not an object", .path.display())]
    Member {
        /// Path of the config.
        path: PathBuf,
        /// Name of the member.
        member: &'static str,
    },
    /// There is no directory for the docker config.
    #[error("cannot find the docker config: this user has no home directory")]
    NoDirectory,
    /// The docker config cannot be written. The old one is kept.
    #[error("cannot write the docker config {}", .path.display())]
    Write {
        /// Path of the config.
        path: PathBuf,
        /// Cause reported by the host.
        #[source]
        source: io::Error,
    },
    /// The config names a helper that does not exist.
    #[error("docker-credential-{helper}, which {} names, is not installed", .config.display())]
    HelperMissing {
        /// Name of the helper, without `docker-credential-`.
        helper: String,
        /// Path of the config.
        config: PathBuf,
        /// True if the config says that the helper keeps a login for the registry.
        has_login: bool,
    },
    /// A helper did not end in time, and was killed.
    #[error(
        "the credential helper docker-credential-{helper} did not answer within {timeout_s} s{message}"
    )]
    HelperTimeout {
        /// Name of the helper, without `docker-credential-`.
        helper: String,
        /// Timeout, in seconds.
        timeout_s: u64,
        /// Output of the helper behind a colon, shortened and escaped; empty if it wrote nothing.
        message: String,
    },
    /// A helper reported a failure.
    #[error("the credential helper docker-credential-{helper} failed{message}")]
    HelperFailed {
        /// Name of the helper, without `docker-credential-`.
        helper: String,
        /// Output of the helper behind a colon, shortened and escaped; empty if it wrote nothing.
        message: String,
    },
}

impl Diagnose for CredentialsError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) | Self::Write { source, .. } | Self::Helper { source, .. } => {
                source.diagnosis()
            }
            Self::HelperMissing { helper, config, .. } => Diagnosis::default().hint(format!(
                "install docker-credential-{helper}, or remove it from {}",
                config.display()
            )),
            Self::Parse { .. }
            | Self::Entry { .. }
            | Self::HelperName { .. }
            | Self::Member { .. }
            | Self::NoDirectory
            | Self::HelperTimeout { .. }
            | Self::HelperFailed { .. } => Diagnosis::default(),
        }
    }
}

impl CredentialSource {
    /// Returns the directory of the docker config; `None` if there is none.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        match self {
            Self::None | Self::Given(_) => None,
            Self::Directory(directory) => Some(directory.clone()),
            Self::Environment => default_directory(),
        }
    }

    /// Returns the credential for a repository of `registry`, or for the registry if it is `None`;
    /// `None` if there is none.
    pub(super) async fn find(
        &self,
        registry: &str,
        repository: Option<&str>,
    ) -> Result<Option<Credential>, CredentialsError> {
        if let Self::Given(credential) = self {
            return Ok(Some(credential.clone()));
        }
        match DockerConfig::read(self.directory().as_deref())? {
            Some(config) => config.find(registry, repository).await,
            None => Ok(None),
        }
    }
}

/// Returns the directory of the user's docker config: `$DOCKER_CONFIG`, or else `~/.docker`.
pub(super) fn default_directory() -> Option<PathBuf> {
    std::env::var_os("DOCKER_CONFIG")
        .filter(|directory| !directory.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".docker")))
}

/// Returns user name and password as a header; `None` if they are not valid in a header.
pub(super) fn basic_header(username: &str, password: &str) -> Option<HeaderValue> {
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}"));
    let mut header = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}
