use std::fmt;
use std::net::SocketAddr;

use msb_secrets::{HttpsDestination, Secret};
use msb_tls_edge::EdgeSettings;
use serde::{Deserialize, Serialize};

use crate::{NetworkLogDetail, Publish, Rule, UpstreamProxy};

/// The network of a sandbox, as the sandbox's record stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Settings {
    /// The default for destinations that no rule applies to.
    pub reach: DefaultPolicy,
    /// Rules that allow destinations.
    pub allow: Vec<Rule>,
    /// Rules that deny destinations. They take precedence over `allow`.
    pub deny: Vec<Rule>,
    /// Host ports that lead into the guest.
    pub publish: Vec<Publish>,
    /// The resolvers that answer the guest's queries; empty for the host's own.
    pub resolvers: Vec<SocketAddr>,
    /// Secrets that the guest uses without having their values. Their destinations are allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Secret>,
    /// The HTTPS requests that are allowed. No other request, and nothing but HTTPS, gets to their
    /// hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<HttpsDestination>,
    /// True if the user is asked about destinations that no rule denies and the default does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The proxy that connections go through; `None` if they leave the host directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_proxy: Option<UpstreamProxy>,
    /// The events that the log has.
    #[serde(skip_serializing_if = "NetworkLogDetail::is_default")]
    pub log: NetworkLogDetail,
}

impl Settings {
    /// Returns true if the network ends the TLS of some destinations.
    pub const fn ends_tls(&self) -> bool {
        !self.secrets.is_empty() || !self.requests.is_empty()
    }

    /// Returns true if the network reads the variables of the environment that name a proxy.
    pub fn reads_proxy(&self) -> bool {
        self.upstream_proxy == Some(UpstreamProxy::Environment)
    }

    /// Returns the destinations whose TLS is ended, and what is done there.
    pub fn edge(&self) -> EdgeSettings {
        EdgeSettings {
            secrets: self.secrets.clone(),
            requests: self.requests.clone(),
        }
    }
}

/// The destinations that a sandbox can connect to without a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultPolicy {
    /// Every address that is not private, local or special.
    #[default]
    Outbound,
    /// No address: only rules allow destinations.
    Listed,
}

impl fmt::Display for DefaultPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outbound => "outbound",
            Self::Listed => "listed",
        })
    }
}
