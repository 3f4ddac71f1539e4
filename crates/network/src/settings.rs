use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{Publish, Rule};

/// A sandbox's network as its description keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Settings {
    /// What is reached that no rule speaks of.
    pub reach: Reach,
    /// What is reached in any case.
    pub allow: Vec<Rule>,
    /// What is not reached in any case.
    pub deny: Vec<Rule>,
    /// Ports of the host that lead into the guest.
    pub publish: Vec<Publish>,
    /// Who answers the guest's questions for names; nobody here means the host's resolvers.
    pub resolvers: Vec<SocketAddr>,
}

/// What a sandbox reaches that no rule speaks of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Everything that is not private, local or special.
    #[default]
    Outbound,
    /// Nothing: what rules allow, and nobody else.
    Listed,
}
