use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use oci_image::{Reference, excerpt};

use super::address::Address;
use super::client::Client;
use super::credentials::{Credential, CredentialsError, default_directory};
use super::docker_config::{DockerConfig, key};
use super::docker_config_file::DockerConfigFile;
use super::endpoint::{Endpoint, Request};
use super::error::RegistryError;
use super::requested_bytes::RequestedBytes;

/// Docker's name of Docker Hub's registry, which names of images without a registry mean.
const DOCKER_HUB: &str = "docker.io";

/// A registry that a user logs in to, by its name in the names of images: `ghcr.io`,
/// `localhost:5000`, `docker.io`.
///
/// Credentials are kept where docker keeps them: by a credential helper if the docker config names
/// one, or else in the config, which only its owner can read.
///
/// ```
/// use oci_registry::Registry;
///
/// assert_eq!(Registry::default().to_string(), "docker.io");
/// assert_eq!("https://ghcr.io/owner".parse::<Registry>()?.to_string(), "ghcr.io");
/// # Ok::<(), oci_registry::LoginError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// A reference to some repository of the registry.
    reference: Reference,
}

/// Place that keeps a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredIn {
    /// A credential helper, by its name without `docker-credential-`.
    Helper(String),
    /// A docker config, which has the password unencrypted.
    File(PathBuf),
}

/// An error of a login or a logout.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The text is not the name of a registry.
    #[error("'{text}' is not the name of a registry: {problem}")]
    Name {
        /// The text, shortened and escaped.
        text: String,
        /// Reason.
        problem: &'static str,
    },
    /// The credential cannot be sent.
    #[error("cannot log in to {registry}: {problem}")]
    Credential {
        /// Name of the registry.
        registry: String,
        /// Reason.
        problem: &'static str,
    },
    /// The registry does not accept the credential.
    #[error("registry {registry} does not accept this user name and password")]
    Refused {
        /// Name of the registry.
        registry: String,
        /// Answer of the registry.
        #[source]
        source: Box<RegistryError>,
    },
    /// The registry cannot be asked about the credential.
    #[error("cannot log in to {registry}")]
    Registry {
        /// Name of the registry.
        registry: String,
        /// Cause reported by the registry client.
        #[source]
        source: Box<RegistryError>,
    },
    /// The credential cannot be stored or removed.
    #[error("cannot change the credentials for {registry}")]
    Store {
        /// Name of the registry.
        registry: String,
        /// Cause reported by the docker config or its helper.
        #[source]
        source: CredentialsError,
    },
}

impl Diagnose for LoginError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Name { .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint("write it as in image names, for example ghcr.io or localhost:5000"),
            Self::Credential { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
            // The remedy of the registry's answer is to log in.
            Self::Refused { registry, .. } => {
                Diagnosis::new(ErrorKind::Unauthorized).hint(format!(
                    "check the user name and the password; {registry} may require an access token \
                     instead of the password"
                ))
            }
            Self::Registry { source, .. } => source.diagnosis(),
            Self::Store { source, .. } => source.diagnosis(),
        }
    }
}

impl Default for Registry {
    /// Returns Docker Hub.
    fn default() -> Self {
        let reference = format!("{DOCKER_HUB}/any").parse();
        Self {
            reference: reference.expect("the name is well-formed"),
        }
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reference.registry())
    }
}

impl FromStr for Registry {
    type Err = LoginError;

    /// Parses `[https://|http://]HOST[:PORT][/ANY]`. A path is ignored, as by docker.
    fn from_str(text: &str) -> Result<Self, LoginError> {
        let wrong = |problem| LoginError::Name {
            text: excerpt(text),
            problem,
        };
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"))
            .unwrap_or(text);
        let host = match rest.split('/').next().unwrap_or(rest) {
            "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
            host => host,
        };
        if host.contains('@') {
            return Err(wrong("a user name or a password is not part of it"));
        }
        let reference: Result<Reference, _> = format!("{host}/any").parse();
        match reference {
            Ok(reference) if reference.registry() == host && !host.is_empty() => {
                Ok(Self { reference })
            }
            // In the name of an image, it would be a user of Docker Hub.
            Ok(reference) if reference.registry() == DOCKER_HUB => {
                Err(wrong("it has neither a dot nor a port"))
            }
            Ok(_) | Err(_) => Err(wrong("a host and perhaps a port make one")),
        }
    }
}

impl Registry {
    /// Checks that the registry accepts the client's credential. Returns false if it asks for none,
    /// so that the credential was not checked.
    ///
    /// # Errors
    /// [`LoginError::Refused`] if the registry does not accept it, [`LoginError::Registry`] if the
    /// registry cannot be asked.
    pub async fn check(&self, client: &Client<'_>) -> Result<bool, LoginError> {
        let failed = |source| {
            let registry = self.to_string();
            let is_refused = matches!(source, RegistryError::Unauthorized { .. });
            let source = Box::new(source);
            if is_refused {
                LoginError::Refused { registry, source }
            } else {
                LoginError::Registry { registry, source }
            }
        };
        let address =
            Address::from_reference(&self.reference, client.plain_http, client.registries);
        let endpoint = Endpoint::to_log_in(&address, client).await;
        let endpoint = endpoint.map_err(failed)?;
        let request = Request {
            path: String::new(),
            what: "its API",
            accept: None,
            bytes: RequestedBytes::All,
        };
        let limit_bytes = client.limits.document_bytes;
        endpoint
            .fetch(&request, limit_bytes)
            .await
            .map_err(failed)?;
        Ok(endpoint.has_authorization().await)
    }

    /// Keeps a credential for the registry, in place of an earlier one. `directory` is that of the
    /// docker config; the user's own if it is `None`.
    ///
    /// # Errors
    /// If the docker config or its helper cannot be read or written; the old config is kept.
    pub async fn keep(
        &self,
        credential: &Credential,
        directory: Option<&Path>,
    ) -> Result<StoredIn, LoginError> {
        self.keep_in(credential, directory)
            .await
            .map_err(|source| self.failed(source))
    }

    async fn keep_in(
        &self,
        credential: &Credential,
        directory: Option<&Path>,
    ) -> Result<StoredIn, CredentialsError> {
        let file = DockerConfigFile::in_directory(directory.map(Path::to_owned))?;
        let registry = self.to_string();
        match self.config(&file)?.helper(&registry) {
            Some(helper) => {
                helper.store(key(&registry), credential).await?;
                file.keep(&registry, None)?;
                Ok(StoredIn::Helper(helper.name().to_owned()))
            }
            None => {
                file.keep(&registry, Some(credential))?;
                Ok(StoredIn::File(file.path().to_owned()))
            }
        }
    }

    /// Removes the credential for the registry. Returns false if there is none. `directory` is that
    /// of the docker config; the user's own if it is `None`.
    ///
    /// # Errors
    /// If the docker config or its helper cannot be read or written; the old config is kept.
    pub async fn forget(&self, directory: Option<&Path>) -> Result<bool, LoginError> {
        self.forget_in(directory)
            .await
            .map_err(|source| self.failed(source))
    }

    async fn forget_in(&self, directory: Option<&Path>) -> Result<bool, CredentialsError> {
        let file = DockerConfigFile::in_directory(directory.map(Path::to_owned))?;
        let registry = self.to_string();
        let erased = match self.config(&file)?.helper(&registry) {
            Some(helper) => helper.erase(key(&registry)).await?,
            None => false,
        };
        let is_removed = file.forget(&registry)?;
        Ok(erased || is_removed)
    }

    fn config(&self, file: &DockerConfigFile) -> Result<DockerConfig, CredentialsError> {
        Ok(DockerConfig::read_file(file.path())?.unwrap_or_default())
    }

    fn failed(&self, source: CredentialsError) -> LoginError {
        LoginError::Store {
            registry: self.to_string(),
            source,
        }
    }

    /// Returns a credential of a user name and a password.
    ///
    /// # Errors
    /// If one of them is empty, or cannot be sent: a user name cannot contain a colon (RFC 7617).
    pub fn credential(&self, username: &str, password: &str) -> Result<Credential, LoginError> {
        let problem = match (username, password) {
            ("", _) => Some("the user name is empty"),
            (_, "") => Some("the password is empty"),
            (name, _) if name.contains(':') => Some("a user name cannot contain a colon"),
            (name, word) if [name, word].iter().any(|it| it.contains(char::is_control)) => {
                Some("the user name or the password contains a control character")
            }
            _ => None,
        };
        match problem {
            Some(problem) => Err(LoginError::Credential {
                registry: self.to_string(),
                problem,
            }),
            None => Ok(Credential::Password {
                username: username.to_owned(),
                password: password.to_owned(),
            }),
        }
    }
}

impl DockerConfigFile {
    fn in_directory(directory: Option<PathBuf>) -> Result<Self, CredentialsError> {
        let directory = directory.or_else(default_directory);
        Self::at(&directory.ok_or(CredentialsError::NoDirectory)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_named_as_docker_names_them() {
        for (text, name) in [
            ("docker.io", Some("docker.io")),
            ("https://index.docker.io/v1/", Some("docker.io")),
            ("ghcr.io", Some("ghcr.io")),
            ("https://ghcr.io/owner/image", Some("ghcr.io")),
            ("localhost", Some("localhost")),
            ("localhost:5000", Some("localhost:5000")),
            ("http://127.0.0.1:5000", Some("127.0.0.1:5000")),
            ("[::1]:5000", Some("[::1]:5000")),
            ("owner", None),
            ("user:secret@ghcr.io", None),
            ("", None),
            ("https://", None),
            ("ghcr.io?x", None),
            ("a b.io", None),
            ("ghcr.io:port", None),
        ] {
            let parsed = text.parse::<Registry>();
            let parsed = parsed.ok().map(|registry| registry.to_string());
            assert_eq!(parsed.as_deref(), name, "{text}");
        }
    }

    #[test]
    fn credentials_that_no_header_can_have_are_refused() {
        let registry = Registry::default();
        assert!(registry.credential("user", "p:a s\u{e4}").is_ok());
        for (name, word) in [("", "p"), ("u", ""), ("u:v", "p"), ("u", "a\nb")] {
            let error = registry.credential(name, word).expect_err("refused");
            assert!(error.to_string().contains("docker.io"), "{error}");
        }
    }
}
