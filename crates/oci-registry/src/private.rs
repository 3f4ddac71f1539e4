//! Addresses that only this host, or its own network, can reach. A registry on the internet must
//! not make msb connect to them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::connect_error::UnresolvedName;

/// An error for a name from a registry that resolves to an address in this host's own network.
#[derive(Debug, thiserror::Error)]
#[error("{host} has the address {address}, which is not an address of the internet")]
pub(super) struct PrivateAddress {
    host: String,
    address: IpAddr,
}

/// A resolver that resolves names as the host does. Connections use the addresses that it returns, so a name
/// cannot change its address after the check.
#[derive(Debug)]
pub(super) enum Resolver {
    /// Every address is given.
    Any,
    /// No private address is given, but for hosts that the user chose, such as proxies.
    Public { trusted: Vec<String> },
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_trusted = match self {
            Self::Any => true,
            Self::Public { trusted } => trusted.iter().any(|host| host == name.as_str()),
        };
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = match tokio::net::lookup_host((name.as_str(), 0)).await {
                Ok(found) => found.collect(),
                Err(error) => return Err(UnresolvedName(error).into()),
            };
            let private = found.iter().map(SocketAddr::ip).find(|&ip| is_private(ip));
            match private {
                Some(address) if !is_trusted => Err(PrivateAddress { host, address }.into()),
                _ => Ok(Box::new(found.into_iter()) as Addrs),
            }
        })
    }
}

/// Checks a URL with a numeric address, for which no resolver is called.
pub(super) fn check_literal(url: &Url) -> Result<(), PrivateAddress> {
    match literal(url).filter(|&address| is_private(address)) {
        Some(address) => Err(PrivateAddress {
            host: "the host".to_owned(),
            address,
        }),
        None => Ok(()),
    }
}

/// Returns the numeric address in a URL; `None` if the URL contains a name.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    inner.parse().ok()
}

/// Returns true if all addresses of a URL's host are on this host or its own network.
pub(super) async fn is_private_host(url: &Url) -> bool {
    if let Some(address) = literal(url) {
        return is_private(address);
    }
    let Some(host) = url.host_str() else {
        return false;
    };
    let port = url.port_or_known_default().unwrap_or_default();
    match tokio::net::lookup_host((host, port)).await {
        Ok(mut found) => found.next().is_some_and(|first| {
            is_private(first.ip()) && found.all(|address| is_private(address.ip()))
        }),
        Err(_) => false,
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b) {
        // IPv4-compatible and IPv4-mapped addresses, the loopback address and the unspecified
        // address.
        (0, 0) if [c, d, e] == [0, 0, 0] => f != 0xffff || embedded(g, h),
        // Addresses of NAT64 and 6to4 contain the IPv4 address that they lead to.
        (0x64, 0xff9b) => [c, d, e, f] != [0, 0, 0, 0] || embedded(g, h),
        (0x2002, high) => embedded(high, c),
        (0x2001, 0xdb8) => true,
        _ => {
            address.is_unique_local()
                || address.is_unicast_link_local()
                || a & 0xffc0 == 0xfec0
                || address.is_multicast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_in_every_dress() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "ff02::1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fec0::1",
            "fd00:ec2::254",
        ] {
            assert!(is_private(text.parse().expect(text)), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert!(!is_private(text.parse().expect(text)), "{text}");
        }
        for url in [
            "http://0x7f.1/",
            "http://2130706433/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(
                check_literal(&Url::parse(url).expect(url)).is_err(),
                "{url}"
            );
        }
    }
}
