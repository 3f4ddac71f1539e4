use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::decision::Reason;
use crate::limits::CONNECT_TIMEOUT;
use crate::name::DomainName;
use crate::own_address::is_own_address;
use crate::policy::Policy;
use crate::proxy::{Destination, Proxy};
use crate::tcp::prepare;

/// The ways to all destinations: directly, or through the upstream proxy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routes(Option<Arc<Proxy>>);

/// The way to one destination that the rules allow.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) address: SocketAddrV4,
    /// The name that the proxy is told; `None` for the address.
    name: Option<String>,
    proxy: Option<Arc<Proxy>>,
}

impl Routes {
    pub(crate) fn new(proxy: Option<Proxy>) -> Self {
        Self(proxy.map(Arc::new))
    }

    /// Returns the way to an address that was allowed for `reason`, and that the guest has resolved a name to. This host is
    /// always reached directly.
    pub(crate) fn to(
        &self,
        address: SocketAddrV4,
        (policy, reason): (&Policy, Reason<'_>),
        resolved: impl FnOnce() -> Option<String>,
    ) -> Route {
        let proxy = self.proxy_to(address);
        let name = proxy.as_ref().and_then(|_| resolved());
        Route {
            address,
            name: name.filter(|name| may_be_told(name, policy, reason)),
            proxy,
        }
    }

    /// Returns the way to an address that the user was asked about and allows, in the words of this name.
    pub(crate) fn asked(&self, address: SocketAddrV4, name: Option<String>) -> Route {
        Route {
            address,
            name: name.filter(|name| of_host(name).is_some()),
            proxy: self.proxy_to(address),
        }
    }

    fn proxy_to(&self, address: SocketAddrV4) -> Option<Arc<Proxy>> {
        let proxy = self.0.as_ref();
        proxy.filter(|_| !is_own_address(*address.ip())).cloned()
    }
}

impl Route {
    /// Returns the way to a host that is known by its name: its TLS is ended.
    pub(crate) fn named(self, host: Option<String>) -> Self {
        let host = host.filter(|host| of_host(host).is_some());
        Self {
            name: host.or(self.name),
            ..self
        }
    }

    /// Returns true if the proxy is on the way.
    pub(crate) fn is_proxied(&self) -> bool {
        self.proxy().is_some()
    }

    /// Connects to the destination.
    pub(crate) async fn dial(&self) -> io::Result<TcpStream> {
        if let Some(proxy) = self.proxy() {
            let (name, address) = (self.name.as_deref(), self.address);
            // The room for an answer would be part of every flow, with a proxy or without.
            let connected = Box::pin(proxy.connect(Destination { name, address }));
            return Ok(connected.await?);
        }
        let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(self.address)).await;
        let stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        prepare(&stream)?;
        Ok(stream)
    }

    fn proxy(&self) -> Option<&Proxy> {
        let proxy = self.proxy.as_deref()?;
        let is_exception = proxy.excepts(self.address, self.name.as_deref());
        (!is_exception).then_some(proxy)
    }
}

/// Returns true if the proxy may resolve the name in place of the address: the rules allow the name for the same reason. A
/// rule of addresses allows no other address, which a name of the guest's could lead to.
fn may_be_told(name: &str, policy: &Policy, reason: Reason<'_>) -> bool {
    let Some(name) = of_host(name) else {
        return false;
    };
    let is_of_reason = match reason {
        Reason::Rule(rule) => rule.names(&name),
        Reason::Default(_) => true,
        Reason::Asked => policy.allows_once(&name),
        _ => false,
    };
    is_of_reason && policy.decide_name(&name).is_allowed()
}

/// Returns the name, if it is one of a host: nothing else gets into a request to a proxy.
fn of_host(name: &str) -> Option<DomainName> {
    DomainName::parse(name).filter(DomainName::is_of_hosts)
}

#[cfg(test)]
mod tests;
