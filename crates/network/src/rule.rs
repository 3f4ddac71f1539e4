use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::Ipv4Net;
use msb_secrets::HttpsDestination;
use serde::{Deserialize, Serialize};

use crate::name::{DomainName, NamePattern};
use crate::ports::Ports;

/// A rule of `--net-allow` or `--net-deny`: addresses or names, with or without ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    pub(crate) target: Target,
    pub(crate) ports: Option<Ports>,
}

/// The destinations that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Addresses(Ipv4Net),
    Names(NamePattern),
}

/// The error for text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// The ports cannot be parsed.
    #[error(
        "'{rule}' has an invalid port: write a port from 1 to 65535, or a range such as 8000-8010"
    )]
    Ports {
        /// The rule that was refused.
        rule: String,
    },
    /// The rule names IPv6 addresses, which sandboxes do not support.
    #[error("'{rule}' is an IPv6 address, but the network of a sandbox supports only IPv4")]
    Ipv6 {
        /// The rule that was refused.
        rule: String,
    },
    /// The target is neither an address, nor a range, nor a name.
    #[error(
        "'{rule}' is not a rule: write an IPv4 address, a range such as 10.0.0.0/8, a name or \
         *.name, each with or without :PORT"
    )]
    Target {
        /// The rule that was refused.
        rule: String,
    },
}

impl Rule {
    /// Returns the rule that a destination of HTTPS implies: its host, at its port. `None` if no
    /// rule can have its name.
    pub(crate) fn implied_by(destination: &HttpsDestination) -> Option<Self> {
        let text = format!("{}:{}", destination.host, destination.port);
        text.parse().ok().filter(Self::is_of_names)
    }

    /// Returns true if the rule applies to this port.
    pub(crate) fn has_port(&self, port: u16) -> bool {
        self.ports.is_none_or(|ports| ports.contain(port))
    }

    /// Returns the rule's address range. `None` if it does not hold `address` and `port`.
    pub(crate) fn range_of(&self, address: Ipv4Addr, port: u16) -> Option<&Ipv4Net> {
        match &self.target {
            Target::Addresses(range) if range.contains(&address) && self.has_port(port) => {
                Some(range)
            }
            _ => None,
        }
    }

    /// Returns true if the rule applies to this name.
    pub(crate) fn names(&self, name: &DomainName) -> bool {
        matches!(&self.target, Target::Names(pattern) if pattern.matches(name))
    }

    /// Returns true if the rule is one of names.
    pub const fn is_of_names(&self) -> bool {
        matches!(self.target, Target::Names(_))
    }

    /// Returns true if the rule is one of a single address or name.
    pub const fn is_of_one_host(&self) -> bool {
        match &self.target {
            Target::Addresses(range) => range.prefix_len() == range.max_prefix_len(),
            Target::Names(pattern) => !pattern.is_below(),
        }
    }

    /// Returns true if the rule is restricted to some ports.
    pub const fn is_of_ports(&self) -> bool {
        self.ports.is_some()
    }
}

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let rule = || text.to_owned();
        let address = text.split_once('/').map_or(text, |(address, _)| address);
        if address.trim_start_matches('[').contains("::") || address.parse::<Ipv6Addr>().is_ok() {
            return Err(InvalidRule::Ipv6 { rule: rule() });
        }
        let (target, ports) = match text.rsplit_once(':') {
            None => (text, None),
            Some((target, ports)) => {
                let ports = ports.parse();
                let ports = ports.map_err(|_| InvalidRule::Ports { rule: rule() })?;
                (target, Some(ports))
            }
        };
        let target = Target::parse(target).ok_or_else(|| InvalidRule::Target { rule: rule() })?;
        Ok(Self { target, ports })
    }
}

impl Target {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Addresses(address.into()));
        }
        if let Ok(range) = text.parse::<Ipv4Net>() {
            return Some(Self::Addresses(range.trunc()));
        }
        NamePattern::parse(text).map(Self::Names)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Addresses(range) if range.prefix_len() == range.max_prefix_len() => {
                write!(f, "{}", range.addr())?;
            }
            Target::Addresses(range) => write!(f, "{range}")?,
            Target::Names(pattern) => write!(f, "{pattern}")?,
        }
        match self.ports {
            Some(ports) => write!(f, ":{ports}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for Rule {
    type Error = InvalidRule;

    fn try_from(text: String) -> Result<Self, InvalidRule> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for (text, canonical) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("192.168.1.7:5432", "192.168.1.7:5432"),
            ("192.168.1.7/32", "192.168.1.7"),
            ("Example.com.", "example.com"),
            ("*.example.com:443", "*.example.com:443"),
            ("localhost:1-65535", "localhost:1-65535"),
        ] {
            let rule: Rule = text.parse().unwrap();
            assert_eq!(rule.to_string(), canonical);
            assert_eq!(canonical.parse::<Rule>().unwrap(), rule);
        }
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for (text, said) in [
            ("", "is not a rule"),
            ("10.0.0.0/33", "is not a rule"),
            ("1.2.3", "is not a rule"),
            ("a b", "is not a rule"),
            ("::1", "is an IPv6 address"),
            ("fe80::/10", "is an IPv6 address"),
            ("1.2.3.4:0", "has an invalid port"),
            ("example.com:http", "has an invalid port"),
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
