//! The rules of a sandbox's network, which can change while it runs.

use std::sync::Arc;

use msb_cancellation::Effect;
use msb_client::blocking;
use msb_sandbox_handle::Handle;
use msb_sandbox_network::{NetworkChange, NetworkPolicy, NetworkRulesError};

use crate::{Error, Network, NetworkMode, Operation, Sandbox};

/// The rules of a sandbox's network. They are kept with the sandbox, and new connections of a running one follow them
/// at once.
///
/// ```no_run
/// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
/// use msb_sdk::Network;
///
/// sandbox.network().allow("*.pypi.org").await?;
/// sandbox.network().set(Network::listed()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SandboxNetwork {
    handle: Arc<Handle>,
}

impl Sandbox {
    /// Returns the rules of the network.
    pub fn network(&self) -> SandboxNetwork {
        SandboxNetwork {
            handle: self.handle(),
        }
    }
}

impl SandboxNetwork {
    /// Returns the rules, as they are kept with the sandbox.
    ///
    /// # Errors
    /// If the sandbox's description cannot be read.
    pub fn show(&self) -> Operation<NetworkPolicy> {
        let handle = Arc::clone(&self.handle);
        Operation::new(async move {
            handle.settled().await;
            let stored = handle.stored();
            blocking(move || msb_sandbox_network::show(&stored)).await
        })
    }

    /// Adds a rule that allows. An equal one that denies is removed.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the text is not a rule, allows requests to a host whose
    /// TLS is not ended since the sandbox's creation, or the sandbox has no network.
    pub fn allow(&self, rule: impl Into<String>) -> Operation<NetworkPolicy> {
        self.change(NetworkChange::Allow(vec![rule.into()]), false)
    }

    /// Adds a rule that denies. An equal one that allows is removed.
    ///
    /// # Errors
    /// Fails as [`allow`](Self::allow) does.
    pub fn deny(&self, rule: impl Into<String>) -> Operation<NetworkPolicy> {
        self.change(NetworkChange::Deny(vec![rule.into()]), false)
    }

    /// Removes a rule, whether it allows or denies.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if there is none.
    pub fn remove(&self, rule: impl Into<String>) -> Operation<NetworkPolicy> {
        self.change(NetworkChange::Remove(vec![rule.into()]), false)
    }

    /// Replaces the mode and all rules at once.
    ///
    /// # Errors
    /// Fails as [`allow`](Self::allow) does, and with the mode `none`, with resolvers, and with `ask`: they are fixed at
    /// the sandbox's creation.
    pub fn set(&self, network: Network) -> Operation<NetworkPolicy> {
        self.set_with(network, false)
    }

    /// Replaces the mode and all rules as [`set`](Self::set) does. With `closes`, open connections that are denied now
    /// end.
    ///
    /// # Errors
    /// Fails as [`set`](Self::set) does.
    pub fn set_with(&self, network: Network, closes: bool) -> Operation<NetworkPolicy> {
        let network_rules = self.clone();
        Operation::new(async move {
            if network.mode == NetworkMode::None {
                let sandbox = network_rules.handle.stored().spec.name.clone();
                return Err(NetworkRulesError::Device { sandbox }.into());
            }
            if network.ask || !network.dns.is_empty() {
                let message = "ask and dns of a network are fixed when a sandbox is created";
                return Err(Error::invalid(message));
            }
            let rules = network.rules()?;
            network_rules
                .change(NetworkChange::Set(rules), closes)
                .await
        })
    }

    /// Changes the rules. With `closes`, open connections that are denied now end.
    ///
    /// # Errors
    /// Fails as [`allow`](Self::allow) and [`remove`](Self::remove) do.
    pub fn change(&self, change: NetworkChange, closes: bool) -> Operation<NetworkPolicy> {
        self.handle
            .change(Effect::Slight, move |handle| async move {
                let stored = handle.stored();
                let changed = msb_sandbox_network::change(stored, change, closes).await;
                let (stored, policy) = changed?;
                handle.replace(stored);
                Ok(policy)
            })
    }
}
