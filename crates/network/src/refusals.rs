use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The most destinations that are reported in one run of the machine. A guest that tries every address
/// writes no more: at most 100 lines of about 100 bytes.
const TOLD_MAX: usize = 100;

/// The reason why a destination is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A rule denies it.
    Rule,
    /// It is an address of this host.
    Host,
    /// It is in a special range; the words name it.
    Range(&'static str),
    /// It serves a cloud's secrets, so no line advises to open it.
    Metadata,
    /// Only listed destinations are open.
    Unlisted,
    /// Another resolver would answer for names that are denied.
    Resolver,
}

/// The destinations that were refused and reported.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    told: BTreeSet<SocketAddrV4>,
}

impl Refusals {
    /// Reports a refused destination in the machine's log, once.
    pub(crate) fn tell(&mut self, refusal: Refusal, destination: SocketAddrV4) {
        if let Some(line) = self.line(refusal, destination) {
            // The log is standard error. If it takes nothing, the guest is refused all the same.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Returns the line for a destination; `None` if it was reported, or if too many were.
    fn line(&mut self, refusal: Refusal, destination: SocketAddrV4) -> Option<String> {
        if self.told.len() > TOLD_MAX || !self.told.insert(destination) {
            return None;
        }
        if self.told.len() > TOLD_MAX {
            return Some("msb: further refused destinations are not reported".to_owned());
        }
        let address = destination.ip();
        let reason = match refusal {
            Refusal::Rule => "denied by --net-deny".to_owned(),
            Refusal::Resolver => "names are denied, so only the gateway answers queries".to_owned(),
            Refusal::Metadata => "link-local addresses and services of clouds".to_owned(),
            Refusal::Host => {
                format!("an address of this host); --net-allow {destination} opens it")
            }
            Refusal::Range(name) => format!("{name}); --net-allow {address} opens it"),
            Refusal::Unlisted => format!("not listed); --net-allow {destination} opens it"),
        };
        let end = if reason.contains(')') { "" } else { ")" };
        Some(format!("msb: refused {destination} ({reason}{end}"))
    }
}

/// Returns the name of the special range of an address.
pub(crate) fn range_name(address: Ipv4Addr) -> &'static str {
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
    use crate::policy::Policy;
    use crate::{DefaultPolicy, Settings};

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

    fn line(policy: &Policy, destination: &str) -> Option<String> {
        let destination = destination.parse().expect("an address");
        Refusals::default().line(policy.refusal(destination)?, destination)
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
                    "msb: refused 203.0.113.80:80 (documentation range); --net-allow 203.0.113.80 opens it",
                ),
            ),
            (
                &open,
                "10.1.2.3:5432",
                Some("msb: refused 10.1.2.3:5432 (private range); --net-allow 10.1.2.3 opens it"),
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
                line(policy, destination).as_deref(),
                expected,
                "{destination}"
            );
        }
    }

    #[test]
    fn each_destination_is_told_once_and_not_endlessly_many() {
        let policy = policy(DefaultPolicy::Outbound, &[]);
        let mut refusals = Refusals::default();
        let mut lines = Vec::new();
        for _ in 0..2 {
            for host in 0..=255 {
                let address = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), 80);
                let refusal = policy.refusal(address).expect("it is private");
                lines.extend(refusals.line(refusal, address));
            }
        }
        assert_eq!(lines.len(), TOLD_MAX + 1);
        assert!(lines.last().expect("lines").contains("not reported"));
    }
}
