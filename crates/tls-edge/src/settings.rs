//! The names and ports whose TLS is ended, and the rules of their requests.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use http::Method;
use msb_secrets::{
    HostPattern, HttpsDestination, InvalidPath, Placement, Secret, SecretName, checked_path,
};

use crate::edge_error::EdgeError;

/// The secrets and the rules that decide which connections are ended.
#[derive(Debug, Clone, Default)]
pub struct EdgeSettings {
    /// The secrets, each with its placeholder.
    pub secrets: Vec<Secret>,
    /// The requests that are allowed to hosts that are named here; all others to these hosts are refused.
    pub requests: Vec<HttpsDestination>,
}

/// The destinations of all secrets and rules.
#[derive(Debug)]
pub(crate) struct Destinations {
    secrets: Vec<PlacedSecret>,
    /// They can change while connections are served.
    requests: RwLock<Vec<HttpsDestination>>,
}

impl Destinations {
    /// Returns the destinations of the settings.
    ///
    /// # Errors
    ///
    /// Fails if a secret has no placeholder, or names a place that takes no value.
    pub(crate) fn new(settings: EdgeSettings) -> Result<Self, EdgeError> {
        let secrets = settings.secrets.into_iter().map(PlacedSecret::new);
        Ok(Self {
            secrets: secrets.collect::<Result<_, _>>()?,
            requests: RwLock::new(settings.requests),
        })
    }

    /// Returns the rules of a name and port; `None` if TLS to it is not ended.
    pub(crate) fn of(&self, name: &str, port: u16) -> Option<Arc<Destination>> {
        let name = normal(name);
        let of_it = |to: &&HttpsDestination| to.is_for(&name, port);
        let secrets: Vec<_> = self
            .secrets
            .iter()
            .filter_map(|secret| secret.only(of_it))
            .collect();
        let requests: Vec<_> = self.requests().iter().filter(of_it).cloned().collect();
        let is_ended = !secrets.is_empty() || !requests.is_empty();
        is_ended.then(|| {
            Arc::new(Destination {
                name,
                port,
                secrets,
                requests,
            })
        })
    }

    /// Returns true if TLS to a name is ended at some port.
    pub(crate) fn names(&self, name: &str) -> bool {
        let name = normal(name);
        self.any(|to| to.host.matches(&name))
    }

    /// Returns true if a destination has this pattern of hosts.
    pub(crate) fn has_host(&self, host: &HostPattern) -> bool {
        self.any(|to| to.host == *host)
    }

    fn any(&self, is_meant: impl Fn(&HttpsDestination) -> bool) -> bool {
        let mut of_secrets = self.secrets.iter().flat_map(|secret| &secret.to);
        of_secrets.any(&is_meant) || self.requests().iter().any(is_meant)
    }

    /// Returns the first host that is not covered; `None` if all are.
    pub(crate) fn first_uncovered(
        &self,
        is_covered: impl Fn(&HostPattern) -> bool,
    ) -> Option<HostPattern> {
        let requests = self.requests();
        let of_secrets = self.secrets.iter().flat_map(|secret| &secret.to);
        let mut all = of_secrets.chain(requests.iter());
        let found = all.find(|to| !is_covered(&to.host));
        found.map(|to| to.host.clone())
    }

    /// Replaces the requests that are allowed, for later connections.
    pub(crate) fn set_requests(&self, requests: Vec<HttpsDestination>) {
        *self
            .requests
            .write()
            .unwrap_or_else(PoisonError::into_inner) = requests;
    }

    fn requests(&self) -> RwLockReadGuard<'_, Vec<HttpsDestination>> {
        self.requests.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the names of the secrets.
    pub(crate) fn secret_names(&self) -> impl Iterator<Item = &SecretName> {
        self.secrets.iter().map(|secret| &secret.name)
    }
}

/// One name and port whose TLS is ended: its secrets, and the rules of its requests.
#[derive(Debug)]
pub(crate) struct Destination {
    /// The name, in lower case and without a dot at its end.
    pub(crate) name: String,
    /// The port.
    pub(crate) port: u16,
    /// The secrets of the name and port.
    pub(crate) secrets: Vec<PlacedSecret>,
    /// The requests that are allowed to it; if there are none, all are.
    pub(crate) requests: Vec<HttpsDestination>,
}

impl Destination {
    /// Returns the decision of the rules about a request with this method and this path, as the guest wrote it.
    pub(crate) fn admission(&self, method: &Method, path: &str) -> Admission {
        if self.requests.is_empty() {
            return Admission::Allowed;
        }
        match checked_path(path) {
            Err(reason) => Admission::Malformed(reason),
            Ok(_) if admits(&self.requests, method, path) => Admission::Allowed,
            Ok(_) => Admission::Denied,
        }
    }

    /// Returns true if rules, or the destinations of a secret, admit some methods or paths only.
    pub(crate) fn is_narrow(&self) -> bool {
        let of_secrets = self.secrets.iter().flat_map(|secret| &secret.to);
        let mut all = self.requests.iter().chain(of_secrets);
        all.any(|to| to.path.is_some() || !to.methods.is_empty())
    }
}

/// The decision of the rules about a request.
#[derive(Debug)]
pub(crate) enum Admission {
    /// The request may be sent.
    Allowed,
    /// No rule names the request.
    Denied,
    /// The path can be read in two ways.
    Malformed(InvalidPath),
}

/// A secret, as far as it concerns requests.
#[derive(Debug, Clone)]
pub(crate) struct PlacedSecret {
    /// The name of the secret.
    pub(crate) name: SecretName,
    /// The text that the guest has in place of the value.
    pub(crate) placeholder: String,
    /// The part of a request that the value is placed in.
    pub(crate) placement: Placement,
    /// The destinations that the value is sent to.
    pub(crate) to: Vec<HttpsDestination>,
}

impl PlacedSecret {
    fn new(secret: Secret) -> Result<Self, EdgeError> {
        let name = secret.name;
        let Some(placeholder) = secret.placeholder else {
            return Err(EdgeError::NoPlaceholder { name });
        };
        // A placement that was not parsed may be one that is refused.
        let placement: Placement = secret.placement.to_string().parse()?;
        Ok(Self {
            name,
            placeholder: placeholder.as_str().to_owned(),
            placement,
            to: secret.to,
        })
    }

    /// Returns the secret with only some of its destinations; `None` if it has none of them.
    fn only(&self, wanted: impl Fn(&&HttpsDestination) -> bool) -> Option<Self> {
        let to: Vec<_> = self.to.iter().filter(wanted).cloned().collect();
        (!to.is_empty()).then(|| Self { to, ..self.clone() })
    }

    /// Returns true if the value may go into a request with this method and this path, as the guest wrote it.
    pub(crate) fn is_for(&self, method: &Method, path: &str) -> bool {
        // The answer to TRACE is the request.
        *method != Method::TRACE && admits(&self.to, method, path)
    }
}

fn admits(all: &[HttpsDestination], method: &Method, path: &str) -> bool {
    all.iter().any(|to| to.admits(method.as_str(), path))
}

/// Returns a name as patterns are compared with it.
fn normal(name: &str) -> String {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
