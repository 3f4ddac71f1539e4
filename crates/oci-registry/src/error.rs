use std::path::{Path, PathBuf};
use std::time::Duration;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use oci_image::{Digest, ManifestDigest, ManifestError};
use rustls::pki_types::pem;

use super::connect_error::ConnectError;
use super::credentials::CredentialsError;
use super::upload::ReadError;

/// An error of a request to a registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The connection failed, or its TLS certificate is not trusted.
    #[error("cannot reach registry {registry}{}", through(.proxy.as_deref()))]
    Unreachable {
        /// Host of the registry.
        registry: String,
        /// The proxy on the path, if there is one.
        proxy: Option<String>,
        /// Cause reported by the network or by TLS.
        #[source]
        source: ConnectError,
    },
    /// TLS cannot be set up on this host.
    #[error("cannot use TLS with registry {registry}")]
    Tls {
        /// Host of the registry.
        registry: String,
        /// Cause reported by the TLS library.
        #[source]
        source: rustls::Error,
    },
    /// An address from the registry, or made of its name, is not valid.
    #[error("'{address}' is not a valid address of a registry")]
    Address {
        /// The address, shortened and escaped.
        address: String,
    },
    /// The connection broke repeatedly.
    #[error("the connection was lost during the transfer of {what}")]
    Cut {
        /// Object that was requested.
        what: String,
        /// Cause reported by the network.
        #[source]
        source: reqwest::Error,
    },
    /// No bytes of the response arrived for too long.
    #[error("the transfer of {what} stalled for {} s", .after.as_secs_f32())]
    Stalled {
        /// Object that was requested.
        what: String,
        /// Time that msb waited.
        after: Duration,
    },
    /// The response arrived too slowly.
    #[error("the transfer of {what} is too slow: {bytes} bytes in {} s", .within.as_secs())]
    Slow {
        /// Object that was requested.
        what: String,
        /// Number of bytes that arrived.
        bytes: u64,
        /// Time in which they arrived.
        within: Duration,
    },
    /// The registry sent a redirect that msb does not follow.
    #[error("registry {registry} sends a redirect for {what} that msb does not follow: {problem}")]
    Redirect {
        /// Host of the registry.
        registry: String,
        /// Object that was requested.
        what: String,
        /// Reason for which the redirect is refused.
        problem: String,
    },
    /// A registry on the internet refers to this host's own network.
    #[error("registry {registry} refers to a private address: {problem}")]
    PrivateAddress {
        /// Host of the registry.
        registry: String,
        /// Private address, with the host that it belongs to.
        problem: String,
    },
    /// A layer is outside of its registry, at an address that msb does not use.
    #[error(
        "the manifest says that the layer is at '{address}', but outside the registry msb \
         downloads only over https"
    )]
    Foreign {
        /// The address, shortened and escaped.
        address: String,
    },
    /// A certificate or key that the user gave cannot be read.
    #[error("cannot use the certificate or key {}", .path.display())]
    Certificate {
        /// Path of the file.
        path: PathBuf,
        /// Cause reported by the PEM parser.
        #[source]
        source: pem::Error,
    },
    /// A proxy that the user gave is not a valid address.
    #[error("'{proxy}' is not the address of an HTTP proxy")]
    Proxy {
        /// The address, shortened and escaped, without its password.
        proxy: String,
    },
    /// The response ended early, repeatedly.
    #[error("{what} ended after {actual_bytes} of {expected_bytes} bytes")]
    Short {
        /// Object that was requested.
        what: String,
        /// Length in the descriptor, in bytes.
        expected_bytes: u64,
        /// Number of bytes that arrived.
        actual_bytes: u64,
    },
    /// The response is longer than expected, or than msb reads.
    #[error("{what} has more than {limit_bytes} bytes")]
    Long {
        /// Object that was requested.
        what: String,
        /// Largest accepted length, in bytes.
        limit_bytes: u64,
    },
    /// The length in the response's header differs from the descriptor.
    #[error("{what} has {actual_bytes} bytes, its descriptor says {expected_bytes}")]
    Size {
        /// Object that was requested.
        what: String,
        /// Length in the descriptor, in bytes.
        expected_bytes: u64,
        /// Length in the response's header, in bytes.
        actual_bytes: u64,
    },
    /// The registry answered 401 or 403.
    #[error("registry {registry} denies access to {what}{}", quoted(.message))]
    Unauthorized {
        /// Host of the registry.
        registry: String,
        /// Object that was requested.
        what: String,
        /// Message of the registry, shortened and escaped.
        message: String,
        /// True if credentials were sent.
        credentials: bool,
    },
    /// The registry answered 404.
    #[error("registry {registry} has no {what}")]
    NotFound {
        /// Host of the registry.
        registry: String,
        /// Object that was requested.
        what: String,
    },
    /// The registry answered with another error status.
    #[error("registry {registry} answers {status} for {what}{}", quoted(.message))]
    Status {
        /// Host of the registry.
        registry: String,
        /// Object that was requested.
        what: String,
        /// HTTP status of the response.
        status: u16,
        /// Message of the registry, shortened and escaped.
        message: String,
        /// Delay in the `Retry-After` header; `None` if there is none.
        retry_after: Option<Duration>,
    },
    /// The token server asks for credentials over a connection that others can read.
    #[error("registry {registry} asks for credentials at {realm}, which is not encrypted")]
    UnsafeRealm {
        /// Host of the registry.
        registry: String,
        /// URL of the token server, shortened and escaped.
        realm: String,
    },
    /// The response of the token server contains no usable token.
    #[error("cannot use the token from {realm}")]
    Token {
        /// URL of the token server, shortened and escaped.
        realm: String,
    },
    /// The credentials cannot be looked up.
    #[error("cannot get credentials for registry {registry}")]
    Credentials {
        /// Host of the registry.
        registry: String,
        /// Cause reported by the lookup.
        #[source]
        source: CredentialsError,
    },
    /// The manifest's digest differs from the `Docker-Content-Digest` header.
    #[error("the manifest has digest {actual}, the registry says {expected}")]
    ContentDigest {
        /// Digest in the header.
        expected: Digest,
        /// Digest of the manifest that arrived.
        actual: Digest,
    },
    /// The manifest's digest differs from the one in the image's name.
    #[error("the manifest has digest {actual}, expected {expected}")]
    WrongManifest {
        /// Digest in the image's name.
        expected: ManifestDigest,
        /// Digest of the manifest that arrived.
        actual: ManifestDigest,
    },
    /// A document of the image is not valid.
    #[error("cannot use the answer of registry {registry}")]
    Manifest {
        /// Host of the registry.
        registry: String,
        /// Cause reported by the document's check.
        #[source]
        source: ManifestError,
    },
    /// The answer of the registry to an upload makes no sense.
    #[error("registry {registry} gives an unusable answer to the upload of {what}: {problem}")]
    Upload {
        /// Host of the registry.
        registry: String,
        /// Object that is uploaded.
        what: String,
        /// Reason for which the answer cannot be used.
        problem: String,
    },
    /// The bytes to upload cannot be had.
    #[error("cannot read {what} to upload it")]
    Source {
        /// Object that is uploaded.
        what: String,
        /// Cause reported by the source.
        #[source]
        source: ReadError,
    },
    /// The bytes that were uploaded are not those that they should be. The upload was not completed.
    #[error("{what} was not published, because the bytes to upload have digest {actual}")]
    SourceDigest {
        /// Object that is uploaded.
        what: String,
        /// Digest that the bytes should have.
        expected: Digest,
        /// Digest of the bytes that were sent.
        actual: Digest,
    },
    /// The registry says that it stored something else.
    #[error("registry {registry} says that it stored {what} as {actual}")]
    StoredDigest {
        /// Host of the registry.
        registry: String,
        /// Object that was uploaded.
        what: String,
        /// Digest that the registry states.
        actual: Digest,
    },
    /// The consumer of the bytes no longer exists.
    #[error("it was cancelled because another part failed")]
    Abandoned,
}

fn quoted(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

fn through(proxy: Option<&str>) -> String {
    proxy
        .map(|proxy| format!(" through the proxy {proxy}"))
        .unwrap_or_default()
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

    /// Returns true if a retry may help.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Cut { .. } | Self::Short { .. } | Self::Stalled { .. } | Self::Slow { .. } => {
                true
            }
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// Returns true if a server that has answered before may answer again: it may be reached, or its
    /// address or the permission may have expired, and the registry gives another one.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unauthorized { .. } => true,
            Self::Status { status, .. } => matches!(status, 400 | 410),
            _ => false,
        }
    }

    /// Returns true if the server refuses a request because there are too many.
    pub(super) fn is_throttling(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 429 | 503,
                ..
            }
        )
    }

    /// Returns true if the server is connected but sends nothing, or too little.
    pub(super) fn is_stall(&self) -> bool {
        matches!(self, Self::Stalled { .. } | Self::Slow { .. })
    }

    /// Returns the delay in the `Retry-After` header; `None` if there is none.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl Diagnose for RegistryError {
    fn diagnosis(&self) -> Diagnosis {
        let failed = Diagnosis::new(ErrorKind::RegistryError);
        match self {
            Self::Unreachable {
                registry,
                proxy,
                source,
            } => failed.with_hints(source.hint(registry, proxy.as_deref())),
            Self::Tls { .. } => {
                failed.hint("install the host's CA certificates (package ca-certificates)")
            }
            Self::Unauthorized {
                registry,
                credentials,
                ..
            } => Diagnosis::new(ErrorKind::Unauthorized).hint(if *credentials {
                format!("log in with msb login {registry} as a user who may use the image")
            } else {
                format!(
                    "check the name of the image; if it is private, or to push it, log in with msb \
                     login {registry}"
                )
            }),
            Self::NotFound { .. } => Diagnosis::new(ErrorKind::ImageNotFound),
            Self::Status { status: 429, .. } => failed
                .hint("the registry limits the number of requests: log in, or try again later"),
            Self::Credentials { source, .. } => failed.caused_by(source.diagnosis()),
            Self::Cut { .. } | Self::Short { .. } | Self::Stalled { .. } | Self::Slow { .. } => {
                failed.hint("check the network and try again; complete layers are kept")
            }
            Self::Address { .. }
            | Self::Redirect { .. }
            | Self::PrivateAddress { .. }
            | Self::Foreign { .. }
            | Self::Certificate { .. }
            | Self::Proxy { .. }
            | Self::Long { .. }
            | Self::Size { .. }
            | Self::Status { .. }
            | Self::UnsafeRealm { .. }
            | Self::Token { .. }
            | Self::ContentDigest { .. }
            | Self::WrongManifest { .. }
            | Self::Manifest { .. }
            | Self::Upload { .. }
            | Self::Source { .. }
            | Self::SourceDigest { .. }
            | Self::StoredDigest { .. }
            | Self::Abandoned => failed,
        }
    }
}
