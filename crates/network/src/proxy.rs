//! The upstream proxy, which connections of the guest go through. It connects to what the rules have allowed before.

mod credentials;
mod destination;
mod exceptions;
mod failure;
mod found;
mod http;
mod socks;
mod url;

use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::tcp::prepare;
use credentials::Credentials;
pub(crate) use destination::Destination;
use exceptions::Exceptions;
pub(crate) use failure::ProxyFailure;
pub use found::UpstreamProxyError;
use url::ProxyProtocol;
pub use url::ProxyUrl;
pub(crate) use url::parse_url;

/// The time that a proxy may take to connect: clients and proxies give up after 30 to 60 s.
const PROXY_TIMEOUT: Duration = Duration::from_secs(30);

/// A proxy on its host, or on this one.
#[derive(Debug)]
pub(crate) struct Proxy {
    protocol: ProxyProtocol,
    /// The addresses of the proxy, which are tried in their order.
    addresses: Vec<SocketAddr>,
    credentials: Option<Credentials>,
    exceptions: Exceptions,
}

impl Proxy {
    /// Returns true if the destination, whose name is known or not, is reached without the proxy.
    pub(crate) fn excepts(&self, address: SocketAddrV4, name: Option<&str>) -> bool {
        self.exceptions.contain(address, name)
    }

    /// Connects to a destination.
    pub(crate) async fn connect(&self, to: Destination<'_>) -> Result<TcpStream, ProxyFailure> {
        let connected = timeout(PROXY_TIMEOUT, self.ask(to)).await;
        connected.unwrap_or(Err(ProxyFailure::Silent))
    }

    async fn ask(&self, to: Destination<'_>) -> Result<TcpStream, ProxyFailure> {
        let mut stream = self.reach().await?;
        let credentials = self.credentials.as_ref();
        match self.protocol {
            ProxyProtocol::Http => http::connect(&mut stream, &to, credentials).await?,
            ProxyProtocol::Socks5h => socks::connect(&mut stream, &to, credentials).await?,
            ProxyProtocol::Socks5 => {
                let to = Destination { name: None, ..to };
                socks::connect(&mut stream, &to, credentials).await?;
            }
        }
        Ok(stream)
    }

    async fn reach(&self) -> Result<TcpStream, ProxyFailure> {
        for address in &self.addresses {
            if let Ok(stream) = TcpStream::connect(address).await
                && prepare(&stream).is_ok()
            {
                return Ok(stream);
            }
        }
        Err(ProxyFailure::Unreachable)
    }
}

#[cfg(test)]
mod tests;
