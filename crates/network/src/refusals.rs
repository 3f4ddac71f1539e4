use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};

use ipnet::Ipv4Net;

use crate::DefaultPolicy;
use crate::decision::Reason;
use crate::name::DomainName;

/// The most destinations that are reported in one run of the machine. A guest that tries every address
/// writes no more: at most 100 lines, each of at most 600 bytes.
const TOLD_MAX: usize = 100;

/// A destination that the guest was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refused<'a> {
    /// An address, with the name that the guest resolved to it.
    Address(SocketAddrV4, Option<&'a str>),
    /// A name, which is one of hosts.
    Name(&'a DomainName),
}

/// The destinations that were refused and reported.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    told: BTreeSet<String>,
}

impl Refused<'_> {
    /// Returns the option that allows the destination. `None` if there is none, or none to advise: some addresses
    /// serve a cloud's secrets.
    pub(crate) fn option(self, reason: Reason<'_>) -> Option<String> {
        let target = match (self, reason) {
            (Self::Name(name), Reason::Default(_)) => name.to_string(),
            (Self::Address(address, Some(name)), Reason::Default(DefaultPolicy::Listed))
                if DomainName::parse(name).is_some_and(|name| name.is_of_hosts()) =>
            {
                // The addresses of a name change.
                format!("{name}:{}", address.port())
            }
            (Self::Address(address, _), Reason::Default(_) | Reason::Host) => address.to_string(),
            (Self::Address(address, _), Reason::Range(range)) if !is_of_clouds(range) => {
                address.to_string()
            }
            _ => return None,
        };
        Some(format!("--net-allow {target}"))
    }

    /// Returns the reason in words. `None` if nothing is reported: programs try addresses of no single host, and QUIC,
    /// without being asked; and a user knows the answers that the user gave.
    fn why(self, reason: Reason<'_>) -> Option<&'static str> {
        Some(match (reason, self) {
            (Reason::Never | Reason::Quic | Reason::Proxy | Reason::Asked, _) => return None,
            (Reason::Rule(_), _) => "denied by --net-deny",
            (Reason::Resolver, _) => "names are denied, so only the gateway answers queries",
            (Reason::Default(_), _) => "not listed",
            (Reason::Host, _) => "an address of this host",
            (Reason::Range(range), _) if range.addr().is_loopback() => "an address of this host",
            (Reason::Range(range), _) if is_of_clouds(range) => {
                "link-local addresses and services of clouds"
            }
            (Reason::Range(_), Self::Address(address, _)) => range_name(*address.ip()),
            (Reason::Range(_), Self::Name(_)) => return None,
        })
    }

    fn text(self) -> String {
        match self {
            Self::Address(address, _) => address.to_string(),
            Self::Name(name) => name.to_string(),
        }
    }
}

impl Refusals {
    /// Reports a refused destination in the machine's log, once.
    pub(crate) fn tell(&mut self, refused: Refused<'_>, reason: Reason<'_>) {
        if let Some(line) = self.line(refused, reason) {
            // The log is standard error. If it takes nothing, the guest is refused all the same.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Returns the line for a destination; `None` if it was reported, or if too many were.
    fn line(&mut self, refused: Refused<'_>, reason: Reason<'_>) -> Option<String> {
        if self.told.len() > TOLD_MAX {
            return None;
        }
        let (why, destination) = (refused.why(reason)?, refused.text());
        if !self.told.insert(destination.clone()) {
            return None;
        }
        if self.told.len() > TOLD_MAX {
            return Some("msb: further refused destinations are not reported".to_owned());
        }
        let advice = match refused.option(reason) {
            Some(option) => format!("; {option} opens it"),
            None => String::new(),
        };
        Some(format!("msb: refused {destination} ({why}){advice}"))
    }
}

/// Returns true for a range of link-local addresses, or of one service of a cloud.
const fn is_of_clouds(range: Ipv4Net) -> bool {
    range.addr().is_link_local() || range.prefix_len() == 32
}

/// Returns the name of the special range of an address.
fn range_name(address: Ipv4Addr) -> &'static str {
    match address.octets() {
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "documentation range",
        [198, 18 | 19, ..] => "range for benchmarks",
        [100, ..] => "shared range of carriers",
        _ if address.is_private() => "private range",
        _ => "special range",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::policy::Policy;

    fn policy(reach: DefaultPolicy, deny: &[&str]) -> Policy {
        Policy::new(&Settings {
            reach,
            deny: deny
                .iter()
                .map(|rule| rule.parse().expect("a rule"))
                .collect(),
            ..Settings::default()
        })
    }

    fn line(policy: &Policy, destination: &str, name: Option<&str>) -> Option<String> {
        let destination = destination.parse().expect("an address");
        let decision = policy.decide(destination);
        let refused = Refused::Address(destination, name);
        let is_told = !decision.is_allowed();
        is_told.then(|| Refusals::default().line(refused, decision.reason))?
    }

    #[test]
    fn a_refused_destination_is_told_with_the_option_that_opens_it() {
        let open = policy(DefaultPolicy::Outbound, &["8.8.8.8"]);
        let listed = policy(DefaultPolicy::Listed, &[]);
        for (policy, destination, expected) in [
            (
                &open,
                "203.0.113.80:80",
                Some(
                    "msb: refused 203.0.113.80:80 (documentation range); --net-allow 203.0.113.80:80 opens it",
                ),
            ),
            (
                &open,
                "10.1.2.3:5432",
                Some(
                    "msb: refused 10.1.2.3:5432 (private range); --net-allow 10.1.2.3:5432 opens it",
                ),
            ),
            (
                &open,
                "127.0.0.1:99",
                Some(
                    "msb: refused 127.0.0.1:99 (an address of this host); --net-allow 127.0.0.1:99 opens it",
                ),
            ),
            (
                &open,
                "169.254.169.254:80",
                Some(
                    "msb: refused 169.254.169.254:80 (link-local addresses and services of clouds)",
                ),
            ),
            (
                &open,
                "8.8.8.8:53",
                Some("msb: refused 8.8.8.8:53 (denied by --net-deny)"),
            ),
            (
                &listed,
                "1.1.1.1:443",
                Some("msb: refused 1.1.1.1:443 (not listed); --net-allow 1.1.1.1:443 opens it"),
            ),
            (&open, "1.1.1.1:443", None),
            (&open, "224.0.0.251:5353", None),
            (&open, "255.255.255.255:67", None),
        ] {
            assert_eq!(
                line(policy, destination, None).as_deref(),
                expected,
                "{destination}"
            );
        }
        let named = line(&listed, "1.1.1.1:443", Some("a.test")).expect("it is told");
        assert!(
            named.ends_with("; --net-allow a.test:443 opens it"),
            "{named}"
        );
        let hostile = line(&listed, "1.1.1.1:443", Some("$(reboot).test")).expect("it is told");
        assert!(hostile.contains("--net-allow 1.1.1.1:443"), "{hostile}");
    }

    #[test]
    fn a_refused_name_is_told_with_the_option_that_opens_it() {
        let name = DomainName::parse("Files.Example").expect("a name");
        let line = |policy: &Policy| {
            let decision = policy.decide_name(&name);
            Refusals::default().line(Refused::Name(&name), decision.reason)
        };
        let listed = line(&policy(DefaultPolicy::Listed, &[])).expect("it is told");
        let expected =
            "msb: refused files.example (not listed); --net-allow files.example opens it";
        assert_eq!(listed, expected);
        let denied = line(&policy(DefaultPolicy::Outbound, &["*.example"])).expect("it is told");
        assert_eq!(denied, "msb: refused files.example (denied by --net-deny)");
    }

    #[test]
    fn each_destination_is_told_once_and_not_endlessly_many() {
        let policy = policy(DefaultPolicy::Outbound, &[]);
        let mut refusals = Refusals::default();
        let mut lines = Vec::new();
        for _ in 0..2 {
            for host in 0..=255 {
                let address = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), 80);
                let reason = policy.decide(address).reason;
                lines.extend(refusals.line(Refused::Address(address, None), reason));
            }
        }
        assert_eq!(lines.len(), TOLD_MAX + 1);
        assert!(lines.last().expect("lines").contains("not reported"));
    }
}
