use std::net::SocketAddrV4;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::NetworkRules;
use crate::asks::{Asked, Asks};
use crate::policy::Policy;

/// The rules of the moment, and the questions about what they deny. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    policy: Arc<RwLock<Arc<Policy>>>,
    asks: Asks,
    /// Counts the changes that end flows which are denied since.
    closings: watch::Sender<u64>,
}

impl Gate {
    pub(crate) fn new(policy: Policy, asks: Asks) -> Self {
        Self {
            policy: Arc::new(RwLock::new(Arc::new(policy))),
            asks,
            closings: watch::Sender::new(0),
        }
    }

    /// Returns the policy of this moment.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&policy)
    }

    /// Follows other rules from now on. With `closes`, open flows end that the rules deny.
    pub(crate) fn follow(&self, rules: &NetworkRules, closes: bool) {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = Arc::new(policy.with_rules(rules));
        drop(policy);
        self.asks.forget_denials();
        if closes {
            self.closings.send_modify(|count| *count += 1);
        }
    }

    /// Asks about a name that the guest queries.
    pub(crate) fn ask_about_name(&self, name: &str) -> Asked {
        self.asks.ask(name)
    }

    /// Asks about an address, in the words of the last name that the guest resolved to it.
    pub(crate) fn ask_about(&self, address: SocketAddrV4, name: Option<&str>) -> Asked {
        match name {
            Some(name) => self.asks.ask(&format!("{name}:{}", address.port())),
            None => self.asks.ask(&address.to_string()),
        }
    }

    /// Returns a receiver that hears of the changes that end flows.
    pub(crate) fn closings(&self) -> watch::Receiver<u64> {
        self.closings.subscribe()
    }
}
