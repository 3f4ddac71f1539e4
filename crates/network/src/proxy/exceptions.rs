use std::net::{Ipv4Addr, SocketAddrV4};

use ipnet::Ipv4Net;

/// The destinations that are reached without a proxy, as `NO_PROXY` lists them.
#[derive(Debug, Default)]
pub(crate) struct Exceptions(Vec<Exception>);

#[derive(Debug)]
struct Exception {
    hosts: Hosts,
    /// `None` for every port.
    port: Option<u16>,
}

#[derive(Debug)]
enum Hosts {
    All,
    Addresses(Ipv4Net),
    /// A name and those below it.
    Name(String),
    /// The names that end with this, which begins with a dot.
    Below(String),
}

impl Exceptions {
    /// Parses a list that is separated by commas: `*`, addresses, ranges, names with those below them, `.NAME` and
    /// `*.NAME` for those below alone; each with or without `:PORT`. Others match nothing.
    pub(super) fn parse(text: &str) -> Self {
        let entries = text.split(',').map(|entry| entry.trim().to_lowercase());
        Self(
            entries
                .filter_map(|entry| Exception::parse(&entry))
                .collect(),
        )
    }

    /// Returns true if the destination, whose name is known or not, is reached without a proxy.
    pub(super) fn contain(&self, address: SocketAddrV4, name: Option<&str>) -> bool {
        let mut entries = self.0.iter();
        entries.any(|entry| entry.contains(address, name))
    }
}

impl Exception {
    fn parse(entry: &str) -> Option<Self> {
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let hosts = match (host, host.strip_prefix('*').unwrap_or(host)) {
            ("", _) => return None,
            ("*", _) => Hosts::All,
            (_, below) if below.starts_with('.') => Hosts::Below(below.to_owned()),
            _ => match host
                .parse()
                .or_else(|_| host.parse::<Ipv4Addr>().map(Ipv4Net::from))
            {
                Ok(range) => Hosts::Addresses(range),
                Err(_) => Hosts::Name(host.to_owned()),
            },
        };
        Some(Self { hosts, port })
    }

    fn contains(&self, address: SocketAddrV4, name: Option<&str>) -> bool {
        if self.port.is_some_and(|port| port != address.port()) {
            return false;
        }
        match &self.hosts {
            Hosts::All => true,
            Hosts::Addresses(range) => range.contains(address.ip()),
            Hosts::Below(end) => name.is_some_and(|name| name.ends_with(end.as_str())),
            Hosts::Name(own) => name.is_some_and(|name| {
                let before = name.strip_suffix(own.as_str());
                before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_names_addresses_and_ports() {
        let list = "no.io, .below.io,*.star.io,10.0.0.0/8,192.168.1.1,port.io:5000,[::1],:,x:y";
        let exceptions = Exceptions::parse(list);
        let contain = |address: &str, name| exceptions.contain(address.parse().unwrap(), name);
        for name in ["no.io", "a.no.io", "a.below.io", "a.star.io"] {
            assert!(contain("203.0.113.1:443", Some(name)), "{name}");
        }
        for name in ["yesno.io", "below.io", "star.io", "port.io"] {
            assert!(!contain("203.0.113.1:443", Some(name)), "{name}");
        }
        assert!(contain("203.0.113.1:5000", Some("port.io")));
        assert!(contain("10.9.8.7:22", None) && contain("192.168.1.1:80", Some("a.test")));
        assert!(!contain("11.9.8.7:22", None));
        assert!(Exceptions::parse("*").contain("11.9.8.7:22".parse().unwrap(), None));
        assert!(!Exceptions::parse("").contain("11.9.8.7:22".parse().unwrap(), None));
    }
}
