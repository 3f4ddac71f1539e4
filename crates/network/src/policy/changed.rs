//! The policy of rules that change, and the decisions that the user is asked about.

use std::sync::Arc;

use msb_secrets::HttpsDestination;
use tokio::time::Instant;

use super::{DENIED, Policy};
use crate::decision::Reason;
use crate::name::DomainName;
use crate::{DefaultPolicy, NetworkRules, Rule};

impl Policy {
    /// Returns the policy of other rules. It knows the addresses that the guest has resolved names to.
    pub(crate) fn with_rules(&self, rules: &NetworkRules) -> Self {
        let of_secrets = &self.allow[self.of_requests..self.implied];
        let new = Self {
            allowed_once: self.allowed_once.clone(),
            is_own: self.is_own,
            ..Self::of_rules(rules.clone(), of_secrets, self.asks)
        };
        let now = Instant::now();
        for known in self.resolutions.all() {
            let Some(name) = DomainName::parse(&known.name) else {
                continue;
            };
            let left = known.until.saturating_duration_since(now);
            let left = Some(left).filter(|left| !left.is_zero());
            // TLS is ended for longer than a rule opens an address, so that no placeholder gets past the edge.
            if left.is_some() || new.ends_tls_of(&name) {
                new.open(&name, known.address, left);
                new.resolutions.keep(known);
            }
        }
        new
    }

    /// Returns the rules, without those that are implied.
    pub(crate) fn rules(&self) -> NetworkRules {
        NetworkRules {
            reach: self.reach,
            allow: self.allow[self.implied..].to_vec(),
            deny: self.deny.clone(),
            requests: self.requests.to_vec(),
        }
    }

    /// Returns the requests that are allowed.
    pub(crate) fn requests(&self) -> Arc<[HttpsDestination]> {
        Arc::clone(&self.requests)
    }

    /// Returns true if a rule denies this name.
    pub(crate) fn denies_name(&self, name: &DomainName) -> bool {
        self.deny.iter().any(|rule| rule.names(name))
    }

    /// Returns true if there is this rule that allows, given or implied.
    pub(crate) fn allows_by(&self, rule: &Rule) -> bool {
        self.allow.contains(rule)
    }

    /// Returns true if the user is asked about what is denied for `reason`. No answer opens what a rule denies, or
    /// what a rule of names would not open: this host, and services of clouds.
    pub(crate) fn asks_about(&self, reason: Reason<'_>) -> bool {
        self.asks
            && match reason {
                Reason::Default(DefaultPolicy::Listed) => true,
                Reason::Range(range) => {
                    let mut private = DENIED.iter().filter(|(_, opens_by_name)| *opens_by_name);
                    private.any(|(denied, _)| *denied == range)
                }
                _ => false,
            }
    }

    /// Allows a name once: the guest can resolve it, and connect to its addresses, for a moment.
    pub(crate) fn allow_once(&self, name: &DomainName) {
        self.allowed_once.add(name, Instant::now());
    }

    /// Returns true if the user has allowed this name a moment ago.
    pub(crate) fn allows_once(&self, name: &DomainName) -> bool {
        self.allowed_once.has(name, Instant::now())
    }
}
