use std::time::Duration;

use crate::digest::Digest;
use crate::image::ManifestError;
use crate::reference::ManifestDigest;

use super::credentials::CredentialsError;

/// Why a registry did not give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// No connection, or none that can be trusted.
    #[error("cannot reach registry {registry}")]
    Unreachable {
        /// Its host.
        registry: String,
        /// What the network, or TLS, said.
        #[source]
        source: reqwest::Error,
    },
    /// TLS cannot be set up on this host.
    #[error("cannot use TLS with registry {registry}")]
    Tls {
        /// Its host.
        registry: String,
        /// What is missing.
        #[source]
        source: rustls::Error,
    },
    /// An address that the registry gave, or that its name makes, is none.
    #[error("'{address}' is not an address that can be asked")]
    Address {
        /// It, cut and escaped.
        address: String,
    },
    /// The connection broke, and broke again.
    #[error("the connection for {what} broke")]
    Cut {
        /// What was asked for.
        what: String,
        /// What the network said.
        #[source]
        source: reqwest::Error,
    },
    /// The answer ended early, and did so again.
    #[error("{what} ended after {actual_bytes} of {expected_bytes} bytes")]
    Short {
        /// What was asked for.
        what: String,
        /// What its descriptor says.
        expected_bytes: u64,
        /// What came.
        actual_bytes: u64,
    },
    /// The answer is longer than it should be, or than msb reads.
    #[error("{what} has more than {limit_bytes} bytes")]
    Long {
        /// What was asked for.
        what: String,
        /// How long it may be.
        limit_bytes: u64,
    },
    /// The length is not what the descriptor says.
    #[error("{what} has {actual_bytes} bytes, its descriptor says {expected_bytes}")]
    Size {
        /// What was asked for.
        what: String,
        /// What the descriptor says.
        expected_bytes: u64,
        /// What the registry says.
        actual_bytes: u64,
    },
    /// 401 or 403, with whatever credentials there were.
    #[error("registry {registry} denies access to {what}{}", said(.message))]
    Unauthorized {
        /// Its host.
        registry: String,
        /// What was asked for.
        what: String,
        /// What the registry said, cut and escaped.
        message: String,
        /// Whether credentials were sent.
        credentials: bool,
    },
    /// 404.
    #[error("registry {registry} has no {what}")]
    NotFound {
        /// Its host.
        registry: String,
        /// What was asked for.
        what: String,
    },
    /// Any other status.
    #[error("registry {registry} answers {status} for {what}{}", said(.message))]
    Status {
        /// Its host.
        registry: String,
        /// What was asked for.
        what: String,
        /// The status.
        status: u16,
        /// What the registry said, cut and escaped.
        message: String,
        /// How long it wants to be left alone, if it says so.
        retry_after: Option<Duration>,
    },
    /// The server that gives tokens asks for credentials where they would be read by others.
    #[error("registry {registry} wants credentials sent to {realm}, which is not safe")]
    UnsafeRealm {
        /// Its host.
        registry: String,
        /// The token server's address, cut and escaped.
        realm: String,
    },
    /// The token makes no sense.
    #[error("the token from {realm} cannot be used")]
    Token {
        /// The token server's address, cut and escaped.
        realm: String,
    },
    /// The docker config cannot be used.
    #[error("cannot get credentials for registry {registry}")]
    Credentials {
        /// Its host.
        registry: String,
        /// Why not.
        #[source]
        source: CredentialsError,
    },
    /// The registry contradicts itself about a manifest.
    #[error("the manifest has digest {actual}, the registry says {expected}")]
    ContentDigest {
        /// What the registry says.
        expected: Digest,
        /// What came.
        actual: Digest,
    },
    /// The manifest is not the one that the name asks for.
    #[error("the manifest has digest {actual}, expected {expected}")]
    WrongManifest {
        /// What was asked for.
        expected: ManifestDigest,
        /// What came.
        actual: ManifestDigest,
    },
    /// A document cannot be followed.
    #[error("cannot use what registry {registry} gave")]
    Manifest {
        /// Its host.
        registry: String,
        /// Why not.
        #[source]
        source: ManifestError,
    },
    /// Whoever wanted the bytes has gone.
    #[error("it was given up")]
    Abandoned,
}

fn said(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl RegistryError {
    /// Whether asking again may help.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Cut { .. } | Self::Short { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// How long the registry wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { registry, .. } => Some(format!(
                "check the name and the network; --plain-http if {registry} does not speak TLS"
            )),
            Self::Tls { .. } => {
                Some("install the host's CA certificates (package ca-certificates)".to_owned())
            }
            Self::Unauthorized {
                registry,
                credentials: false,
                ..
            } => Some(format!(
                "no credentials are configured for {registry}: docker login {registry}"
            )),
            Self::Unauthorized { registry, .. } => Some(format!(
                "the credentials for {registry} do not do: docker login {registry}"
            )),
            Self::Status { status: 429, .. } => {
                Some("the registry limits how often it is asked: log in, or wait".to_owned())
            }
            _ => None,
        }
    }
}
