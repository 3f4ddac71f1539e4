//! The ended connections of one sandbox: their destinations, the authority, the roots and the values.

use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::{InvalidPlacement, SecretName};
use rustls::ClientConfig;
use thiserror::Error;

use crate::authority::Authority;
use crate::roots::Roots;
use crate::serve::Gates;
use crate::settings::{Destinations, EdgeSettings};
use crate::tls;
use crate::values::Values;

/// The end of TLS for the connections of one sandbox.
#[derive(Debug)]
pub struct Edge {
    /// The names and ports whose TLS is ended.
    pub(crate) destinations: Destinations,
    /// The authority whose certificates the guest trusts.
    pub(crate) authority: Authority,
    /// The configuration of handshakes with hosts, whose certificates are verified against the roots.
    pub(crate) client: Arc<ClientConfig>,
    /// The bounds of connections at once.
    pub(crate) gates: Gates,
    values: Values,
}

impl Edge {
    /// Returns the end of TLS with these settings. No secret has a value yet.
    ///
    /// # Errors
    ///
    /// Fails if a secret has no placeholder or no usable place, if the authority may not sign for a host, or if TLS
    /// cannot be set up.
    pub fn new(
        settings: EdgeSettings,
        authority: Authority,
        roots: Roots,
    ) -> Result<Self, EdgeError> {
        let destinations = Destinations::new(settings)?;
        let uncovered = destinations.all().find(|to| !authority.covers(&to.host));
        if let Some(to) = uncovered {
            let host = to.host.to_string();
            return Err(EdgeError::NotCovered { host });
        }
        let values = Values::new(destinations.secret_names().cloned());
        Ok(Self {
            destinations,
            authority,
            client: tls::host_config(&roots)?,
            gates: Gates::default(),
            values,
        })
    }

    /// Returns the values of the secrets.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns true if TLS to this name and port is ended.
    pub fn ends(&self, name: &str, port: u16) -> bool {
        self.destinations.of(name, port).is_some()
    }

    /// Returns true if TLS to this name is ended at some port.
    pub fn names(&self, name: &str) -> bool {
        self.destinations.names(name)
    }
}

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

#[cfg(test)]
mod tests;
