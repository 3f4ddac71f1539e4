use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{Publish, Rule};

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
