//! The ended connections of one sandbox: their destinations, the authority, the roots and the values.

use std::sync::Arc;

use msb_secrets::HttpsDestination;
use rustls::ClientConfig;

use crate::authority::Authority;
use crate::edge_error::EdgeError;
use crate::gates::Gates;
use crate::roots::Roots;
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
        if let Some(host) = destinations.first_uncovered(|host| authority.covers(host)) {
            return Err(EdgeError::not_covered(&host));
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

    /// Replaces the requests that are allowed. Connections that are being served keep the earlier ones.
    ///
    /// # Errors
    ///
    /// Fails if the authority may not sign for a host. The requests are unchanged then.
    pub fn set_requests(&self, requests: Vec<HttpsDestination>) -> Result<(), EdgeError> {
        // A certificate is made for each host that is not known, so the known ones come first.
        let covers = |host: &_| self.destinations.has_host(host) || self.authority.covers(host);
        if let Some(to) = requests.iter().find(|to| !covers(&to.host)) {
            return Err(EdgeError::not_covered(&to.host));
        }
        self.destinations.set_requests(requests);
        Ok(())
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

#[cfg(test)]
mod tests;
