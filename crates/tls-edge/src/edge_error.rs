//! The reasons why the TLS of a sandbox's connections cannot be ended.

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::{HostPattern, InvalidPlacement, SecretName};
use thiserror::Error;

/// A reason why TLS cannot be ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// A secret has no placeholder.
    #[error("secret {name} has no placeholder")]
    NoPlaceholder {
        /// The name of the secret.
        name: SecretName,
    },
    /// A secret names a place that takes no value.
    #[error(transparent)]
    Placement(#[from] InvalidPlacement),
    /// The authority of the sandbox may not sign for a host.
    #[error("the certificate authority of the sandbox is not valid for {host}")]
    NotCovered {
        /// The host.
        host: String,
    },
    /// TLS cannot be set up.
    #[error("cannot set TLS up")]
    Tls(#[from] rustls::Error),
}

impl EdgeError {
    pub(crate) fn not_covered(host: &HostPattern) -> Self {
        let host = host.to_string();
        Self::NotCovered { host }
    }
}

impl Diagnose for EdgeError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoPlaceholder { name } => {
                Diagnosis::new(ErrorKind::InternalError).detail("secret", name.to_string())
            }
            Self::Placement(source) => source.diagnosis(),
            Self::Tls(_) => Diagnosis::new(ErrorKind::InternalError),
            Self::NotCovered { .. } => Diagnosis::new(ErrorKind::InvalidArgument).hint(
                "create a new sandbox with this host: the hosts of secrets are fixed at its creation",
            ),
        }
    }
}
