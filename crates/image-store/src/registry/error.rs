use std::path::{Path, PathBuf};
use std::time::Duration;

use rustls::pki_types::pem;

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
    /// The answer stood still.
    #[error("{what} stood still for {} s", .after.as_secs_f32())]
    Stalled {
        /// What was asked for.
        what: String,
        /// How long msb waits.
        after: Duration,
    },
    /// The answer came too slowly.
    #[error("{what} comes too slowly: {bytes} bytes in {} s", .within.as_secs())]
    Slow {
        /// What was asked for.
        what: String,
        /// What came.
        bytes: u64,
        /// Within how long.
        within: Duration,
    },
    /// A redirect that msb does not follow.
    #[error("registry {registry} sends a redirect for {what} that msb does not follow: {problem}")]
    Redirect {
        /// Its host.
        registry: String,
        /// What was asked for.
        what: String,
        /// Why not.
        problem: String,
    },
    /// A registry on the internet leads into this host's own network.
    #[error("registry {registry} leads to a private address: {problem}")]
    PrivateAddress {
        /// Its host.
        registry: String,
        /// Where it leads.
        problem: String,
    },
    /// A layer that lies outside of its registry, where msb does not go.
    #[error(
        "the layer is to be fetched from '{address}', and msb goes outside of a registry over https alone"
    )]
    Foreign {
        /// The address, cut and escaped.
        address: String,
    },
    /// A certificate or key that was given cannot be read.
    #[error("cannot use certificate or key {}", .path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: pem::Error,
    },
    /// A proxy that was given is none.
    #[error("'{proxy}' is not the address of an HTTP proxy")]
    Proxy {
        /// It, cut and escaped, without its password.
        proxy: String,
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
    pub(super) fn cut(what: &str, source: reqwest::Error) -> Self {
        Self::Cut {
            what: what.to_owned(),
            source: source.without_url(),
        }
    }

    pub(super) fn certificate(path: &Path, source: pem::Error) -> Self {
        Self::Certificate {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether asking again may help.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Cut { .. } | Self::Short { .. } | Self::Stalled { .. } | Self::Slow { .. } => {
                true
            }
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// Whether the other side is there and gives nothing.
    pub(super) fn is_stall(&self) -> bool {
        matches!(self, Self::Stalled { .. } | Self::Slow { .. })
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
            Self::Unreachable { source, .. } if is_certificate(source) => Some(
                "if the registry's certificate authority is not one of the host's: --tls-ca FILE"
                    .to_owned(),
            ),
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

/// Whether TLS failed for whom the other side is.
fn is_certificate(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        // An error of input and output holds the one of TLS, and may be held by another such.
        let mut inner = error;
        while let Some(held) = inner
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
        {
            inner = held;
        }
        if let Some(rustls::Error::InvalidCertificate(_)) = inner.downcast_ref() {
            return true;
        }
        cause = error.source();
    }
    false
}
