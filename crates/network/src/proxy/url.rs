use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::credentials::Credentials;
use crate::name::DomainName;

/// The protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyProtocol {
    /// `CONNECT` of HTTP (RFC 9110, section 9.3.6).
    Http,
    /// SOCKS5 (RFC 1928) with addresses.
    Socks5,
    /// SOCKS5 with names, which the proxy resolves.
    Socks5h,
}

/// The address of a proxy: `PROTOCOL://HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUrl {
    pub(crate) protocol: ProxyProtocol,
    /// A name, or an address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Parses `[PROTOCOL://][USER:PASSWORD@]HOST[:PORT][/]`. `None` if it is not valid.
pub(crate) fn parse_url(text: &str) -> Option<(ProxyUrl, Option<Credentials>)> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let protocol = ProxyProtocol::parse(scheme)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (credentials, authority) = match rest.rsplit_once('@') {
        Some((user, authority)) => (Some(Credentials::parse(user)?), authority),
        None => (None, rest),
    };
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, port) = bracketed.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, Some(port).filter(|port| !port.is_empty()))
        }
        None => match authority.split_once(':') {
            Some((host, _)) => (host, authority.get(host.len()..)),
            None => (authority, None),
        },
    };
    let port = match port {
        Some(port) => port.strip_prefix(':')?.parse().ok()?,
        None => protocol.default_port(),
    };
    let host = host.to_ascii_lowercase();
    let is_address = host.parse::<Ipv4Addr>().is_ok() || host.contains(':');
    let is_name = || DomainName::parse(&host).is_some_and(|name| name.is_of_hosts());
    let is_whole = port != 0 && (is_address || is_name());
    let url = ProxyUrl {
        protocol,
        host,
        port,
    };
    is_whole.then_some((url, credentials))
}

impl ProxyProtocol {
    fn parse(scheme: &str) -> Option<Self> {
        match scheme.to_ascii_lowercase().as_str() {
            "http" => Some(Self::Http),
            "socks5" => Some(Self::Socks5),
            "socks5h" => Some(Self::Socks5h),
            _ => None,
        }
    }

    const fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Socks5 => "socks5",
            Self::Socks5h => "socks5h",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Socks5 | Self::Socks5h => 1080,
        }
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.protocol.scheme();
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}
