use std::future::pending;
use std::net::SocketAddrV4;
use std::sync::Arc;

use msb_secrets::HttpsDestination;
use tokio::sync::watch;

use crate::decision::Reason;
use crate::gate::Gate;
use crate::name::DomainName;
use crate::permit::Permit;

/// The end of a flow's permission, which changed rules may bring.
#[derive(Debug)]
pub(crate) struct Revocation {
    gate: Gate,
    closings: watch::Receiver<u64>,
    address: SocketAddrV4,
    /// The last name that the guest had resolved to the address.
    name: Option<Box<str>>,
    permit: Permit,
    /// The requests that were allowed when the flow began; `None` unless its TLS is ended.
    requests: Option<Arc<[HttpsDestination]>>,
}

impl Revocation {
    /// Returns the end of the permission of a flow that begins now.
    pub(crate) fn new(gate: &Gate, address: SocketAddrV4, permit: Permit) -> Self {
        Self {
            gate: gate.clone(),
            closings: gate.closings(),
            address,
            name: None,
            permit,
            requests: None,
        }
    }

    /// Adds the name that the guest had resolved to the address.
    pub(crate) fn of_name(mut self, name: Option<&str>) -> Self {
        self.name = name.map(Into::into);
        self
    }

    /// Has the flow end if other requests are allowed: it may carry any of those before.
    pub(crate) fn of_requests(mut self) -> Self {
        self.requests = Some(self.gate.policy().requests());
        self
    }

    pub(crate) const fn address(&self) -> SocketAddrV4 {
        self.address
    }

    pub(crate) const fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Waits until flows are to be closed that are denied, and this is one of them.
    pub(crate) async fn revoked(&self) {
        let mut closings = self.closings.clone();
        while closings.changed().await.is_ok() {
            if self.is_denied() {
                return;
            }
        }
        pending().await
    }

    fn is_denied(&self) -> bool {
        let policy = self.gate.policy();
        let name = self.name.as_deref().and_then(DomainName::parse);
        if name.is_some_and(|name| policy.denies_name(&name)) {
            return true;
        }
        if self
            .requests
            .as_ref()
            .is_some_and(|requests| *requests != policy.requests())
        {
            return true;
        }
        let decision = policy.decide(self.address);
        if decision.is_allowed() {
            return false;
        }
        match (decision.reason, &self.permit) {
            (Reason::Rule(_) | Reason::Never | Reason::Resolver, _) => true,
            // The addresses of a name are open for a while, and a connection stays.
            (_, Permit::Rule(rule)) => !policy.allows_by(rule),
            (_, Permit::Asked) => false,
            (_, Permit::Default) => true,
        }
    }
}
