use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use ipnet::Ipv4Net;
use tokio::time::Instant;

use crate::learned::Learned;
use crate::name::DomainName;
use crate::own_address::is_own_address;
use crate::refusals::{Refusal, range_name};
use crate::{DefaultPolicy, Rule, Settings};

/// The destinations that the guest may connect to, and the names that it may query.
///
/// The first of these that applies to a destination decides:
///
/// 1. No rule opens `0.0.0.0/8`, multicast, or `240.0.0.0/4`.
/// 2. A `deny` rule.
/// 3. An `allow` rule of addresses. A range that is denied by default needs a rule that lies within
///    it, so that `0.0.0.0/0` is the public network and not the host's own.
/// 4. An `allow` rule of names, for the addresses that such a name was resolved to. It opens
///    private ranges too, but never this host, link-local addresses or loopback.
/// 5. The ranges that are denied by default: [`DENIED`], and every address of this host.
/// 6. [`DefaultPolicy`].
#[derive(Debug)]
pub(crate) struct Policy {
    reach: DefaultPolicy,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    learned: Learned,
    is_own: fn(Ipv4Addr) -> bool,
}

/// Ranges that no rule opens: another notation of "this host", and addresses of no single host.
const NEVER: [Ipv4Net; 3] = [
    net(Ipv4Addr::new(0, 0, 0, 0), 8),
    net(Ipv4Addr::new(224, 0, 0, 0), 4),
    net(Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Ranges that are denied by default, each with whether a rule of names may open it.
///
/// These are the ranges that IANA's registry of special-purpose addresses does not call globally
/// reachable, and services of clouds.
const DENIED: [(Ipv4Net, bool); 14] = [
    (net(Ipv4Addr::new(10, 0, 0, 0), 8), true),
    // A cloud's metadata service. It precedes the range that contains it.
    (net(Ipv4Addr::new(100, 100, 100, 200), 32), false),
    (net(Ipv4Addr::new(100, 64, 0, 0), 10), true),
    (net(Ipv4Addr::new(127, 0, 0, 0), 8), false),
    // Azure's host, which serves certificates, settings and names to every guest.
    (net(Ipv4Addr::new(168, 63, 129, 16), 32), false),
    // Link-local addresses, which include the metadata service of clouds, 169.254.169.254.
    (net(Ipv4Addr::new(169, 254, 0, 0), 16), false),
    (net(Ipv4Addr::new(172, 16, 0, 0), 12), true),
    // This range contains the wire between guest and gateway, and a cloud's services.
    (net(Ipv4Addr::new(192, 0, 0, 0), 24), false),
    // Documentation.
    (net(Ipv4Addr::new(192, 0, 2, 0), 24), false),
    // The relays of 6to4, which is deprecated.
    (net(Ipv4Addr::new(192, 88, 99, 0), 24), false),
    (net(Ipv4Addr::new(192, 168, 0, 0), 16), true),
    // Benchmarks of networks; proxies on the host also allocate addresses in this range.
    (net(Ipv4Addr::new(198, 18, 0, 0), 15), false),
    // Documentation.
    (net(Ipv4Addr::new(198, 51, 100, 0), 24), false),
    (net(Ipv4Addr::new(203, 0, 113, 0), 24), false),
];

/// The ports of DNS and of DNS over TLS. If names are denied, the guest may query only the gateway.
const NAME_SERVICE_PORTS: [u16; 2] = [53, 853];

const fn net(address: Ipv4Addr, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(address, bits)
}

/// The range that denies a destination by default.
struct Denial {
    bits: u8,
    opens_by_name: bool,
}

impl Policy {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            reach: settings.reach,
            allow: settings.allow.clone(),
            deny: settings.deny.clone(),
            learned: Learned::default(),
            is_own: is_own_address,
        }
    }

    /// Returns true if the guest may connect to `destination`.
    pub(crate) fn allows(&self, destination: SocketAddrV4) -> bool {
        let (address, port) = (*destination.ip(), destination.port());
        if NEVER.iter().any(|range| range.contains(&address)) {
            return false;
        }
        let range = |rule: &&Rule| rule.range_of(address, port).copied();
        if self.deny.iter().any(|rule| range(&rule).is_some()) {
            return false;
        }
        let denial = self.denial(address);
        let needed_bits = denial.as_ref().map_or(0, |denial| denial.bits);
        let mut ranges = self.allow.iter().filter_map(|rule| range(&rule));
        if ranges.any(|range| range.prefix_len() >= needed_bits) {
            return true;
        }
        let opens_by_name = denial.as_ref().is_none_or(|denial| denial.opens_by_name);
        if opens_by_name && self.learned.opens(destination, Instant::now()) {
            return true;
        }
        denial.is_none() && self.reach == DefaultPolicy::Outbound && !self.evades_names(port)
    }

    /// Returns the reason why the guest may not connect to `destination`. `None` if it may, or if the
    /// address is of no single host.
    pub(crate) fn refusal(&self, destination: SocketAddrV4) -> Option<Refusal> {
        let (address, port) = (*destination.ip(), destination.port());
        if self.allows(destination) || NEVER.iter().any(|range| range.contains(&address)) {
            return None;
        }
        let denies = |rule: &Rule| rule.range_of(address, port).is_some();
        Some(if self.deny.iter().any(denies) {
            Refusal::Rule
        } else if (self.is_own)(address) || address.is_loopback() {
            Refusal::Host
        } else if let Some(denial) = self.denial(address) {
            if address.is_link_local() || denial.bits == 32 {
                Refusal::Metadata
            } else {
                Refusal::Range(range_name(address))
            }
        } else if self.reach == DefaultPolicy::Outbound {
            Refusal::Resolver
        } else {
            Refusal::Unlisted
        })
    }

    /// Returns true if the guest may query `name`.
    pub(crate) fn resolves(&self, name: &DomainName) -> bool {
        let named = |rules: &[Rule]| rules.iter().any(|rule| rule.names(name));
        !named(&self.deny) && (self.reach == DefaultPolicy::Outbound || named(&self.allow))
    }

    /// Records an address that `name` was resolved to, which the guest may use for `ttl`.
    pub(crate) fn learn(&self, name: &DomainName, address: Ipv4Addr, ttl: Duration) {
        for rule in self.allow.iter().filter(|rule| rule.names(name)) {
            self.learned.add(address, rule.ports, ttl, Instant::now());
        }
    }

    fn denial(&self, address: Ipv4Addr) -> Option<Denial> {
        if (self.is_own)(address) {
            let is_loopback = address.is_loopback();
            // The whole loopback is one host, and a rule may open it as one.
            let bits = if is_loopback { 8 } else { 32 };
            return Some(Denial {
                bits,
                opens_by_name: false,
            });
        }
        let found = DENIED.iter().find(|(range, _)| range.contains(&address));
        found.map(|&(range, opens_by_name)| Denial {
            bits: range.prefix_len(),
            opens_by_name,
        })
    }

    /// Returns true if another resolver at this port could answer for names that are denied here.
    fn evades_names(&self, port: u16) -> bool {
        NAME_SERVICE_PORTS.contains(&port) && self.deny.iter().any(Rule::is_of_names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands for two interfaces of the host, one in the public range and one in a private range.
    fn is_own(address: Ipv4Addr) -> bool {
        address.is_loopback() || ["8.8.4.9", "192.168.1.5"].contains(&&*address.to_string())
    }

    fn policy(reach: DefaultPolicy, allow: &[&str], deny: &[&str]) -> Policy {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let settings = Settings {
            reach,
            allow: rules(allow),
            deny: rules(deny),
            ..Settings::default()
        };
        Policy {
            is_own,
            ..Policy::new(&settings)
        }
    }

    #[track_caller]
    fn expect(policy: &Policy, allowed: &[&str], denied: &[&str]) {
        for (destinations, expected) in [(allowed, true), (denied, false)] {
            for destination in destinations {
                let parsed = destination.parse().unwrap();
                assert_eq!(policy.allows(parsed), expected, "{destination}");
            }
        }
    }

    fn resolves(policy: &Policy, name: &str) -> bool {
        policy.resolves(&DomainName::parse(name).unwrap())
    }

    const PRIVATE: [&str; 13] = [
        "0.0.0.0:80",
        "10.0.0.1:80",
        "100.64.0.1:80",
        "127.0.0.1:80",
        "169.254.169.254:80",
        "172.31.255.255:80",
        "192.0.0.1:80",
        "192.168.0.1:80",
        "192.168.1.5:22",
        "8.8.4.9:22",
        "224.0.0.251:5353",
        "240.0.0.1:80",
        "255.255.255.255:67",
    ];

    #[test]
    fn without_rules_the_public_network_is_reached_and_nothing_else() {
        let public = [
            "1.1.1.1:53",
            "8.8.4.8:80",
            "172.32.0.1:80",
            "100.128.0.1:80",
        ];
        expect(
            &policy(DefaultPolicy::Outbound, &[], &[]),
            &public,
            &PRIVATE,
        );
        expect(&policy(DefaultPolicy::Listed, &[], &[]), &[], &public);
        expect(&policy(DefaultPolicy::Listed, &[], &[]), &[], &PRIVATE);
    }

    #[test]
    fn a_rule_for_everything_opens_nothing_private() {
        for reach in [DefaultPolicy::Listed, DefaultPolicy::Outbound] {
            expect(
                &policy(reach, &["0.0.0.0/0"], &[]),
                &["1.1.1.1:53"],
                &PRIVATE,
            );
        }
    }

    #[test]
    fn a_rule_within_a_denied_range_opens_it() {
        let policy = policy(
            DefaultPolicy::Outbound,
            &[
                "10.0.0.0/8",
                "169.254.169.254:80",
                "192.168.0.0/16",
                "127.0.0.1:5432",
                "0.0.0.0/8",
            ],
            &["10.9.0.0/16"],
        );
        expect(
            &policy,
            &[
                "10.0.0.1:1",
                "169.254.169.254:80",
                "192.168.1.6:22",
                "127.0.0.1:5432",
            ],
            &[
                "10.9.1.1:1",
                "169.254.169.254:81",
                "127.0.0.1:22",
                "127.0.0.2:5432",
                "0.0.0.0:5432",
                // A rule for the host's whole network does not open the host itself.
                "192.168.1.5:22",
            ],
        );
    }

    #[test]
    fn an_address_of_this_host_needs_a_rule_of_its_own() {
        let policy = policy(
            DefaultPolicy::Outbound,
            &["8.8.4.0/24", "192.168.1.5:80"],
            &[],
        );
        expect(
            &policy,
            &["192.168.1.5:80", "8.8.4.8:1"],
            &["192.168.1.5:22", "8.8.4.9:1"],
        );
    }

    #[test]
    fn deny_wins_over_allow() {
        let policy = policy(
            DefaultPolicy::Outbound,
            &["1.1.1.1"],
            &["1.0.0.0/8:53", "8.8.8.8"],
        );
        expect(
            &policy,
            &["1.1.1.1:80", "8.8.4.4:53"],
            &["1.1.1.1:53", "8.8.8.8:443"],
        );
    }

    #[test]
    fn names_open_the_addresses_they_were_resolved_to() {
        let policy = policy(
            DefaultPolicy::Listed,
            &["*.example.com:443", "db.internal"],
            &[],
        );
        assert!(resolves(&policy, "WWW.example.com.") && resolves(&policy, "db.internal"));
        assert!(!resolves(&policy, "example.com") && !resolves(&policy, "example.org"));
        let minute = Duration::from_secs(60);
        for (name, address) in [
            ("www.example.com.", "1.0.0.1"),
            ("example.org.", "1.0.0.2"),
            ("db.internal", "10.1.1.1"),
            ("db.internal", "169.254.169.254"),
            ("db.internal", "127.0.0.1"),
            ("db.internal", "8.8.4.9"),
        ] {
            policy.learn(
                &DomainName::parse(name).unwrap(),
                address.parse().unwrap(),
                minute,
            );
        }
        expect(
            &policy,
            &["1.0.0.1:443", "10.1.1.1:5432"],
            &[
                "1.0.0.1:80",
                "1.0.0.2:443",
                "169.254.169.254:80",
                "127.0.0.1:80",
                "8.8.4.9:80",
            ],
        );
    }

    #[test]
    fn a_denied_name_is_not_asked_for_elsewhere() {
        let open = policy(DefaultPolicy::Outbound, &[], &[]);
        expect(&open, &["8.8.8.8:53", "8.8.8.8:853"], &[]);
        let ruled = policy(DefaultPolicy::Outbound, &["9.9.9.9:53"], &["evil.example"]);
        expect(
            &ruled,
            &["8.8.8.8:443", "9.9.9.9:53"],
            &["8.8.8.8:53", "8.8.8.8:853"],
        );
        assert!(!resolves(&ruled, "evil.example.") && resolves(&ruled, "good.example"));
    }

    /// IANA's "IPv4 Special-Purpose Address Registry" as of 2024-11-28
    /// (https://www.iana.org/assignments/iana-ipv4-special-registry), each block with whether it is
    /// globally reachable. For 192.88.99.0/24, which is deprecated, the registry does not say. The
    /// addresses behind them are further ones that clouds answer their guests at.
    const SPECIAL: [(&str, bool); 33] = [
        ("0.0.0.0/8", false),
        ("0.0.0.0/32", false),
        ("10.0.0.0/8", false),
        ("100.64.0.0/10", false),
        ("127.0.0.0/8", false),
        ("169.254.0.0/16", false),
        ("172.16.0.0/12", false),
        ("192.0.0.0/24", false),
        ("192.0.0.0/29", false),
        ("192.0.0.8/32", false),
        // Globally reachable by the registry, but denied with the block that contains the wire.
        ("192.0.0.9/32", false),
        ("192.0.0.10/32", false),
        ("192.0.0.170/32", false),
        ("192.0.0.171/32", false),
        ("192.0.2.0/24", false),
        ("192.31.196.0/24", true),
        ("192.52.193.0/24", true),
        ("192.88.99.0/24", false),
        ("192.88.99.2/32", false),
        ("192.168.0.0/16", false),
        ("192.175.48.0/24", true),
        ("198.18.0.0/15", false),
        ("198.51.100.0/24", false),
        ("203.0.113.0/24", false),
        ("240.0.0.0/4", false),
        ("255.255.255.255/32", false),
        // Multicast has its own registry.
        ("224.0.0.0/4", false),
        // AWS and most others; AWS's containers; Alibaba; Oracle; Azure.
        ("169.254.169.254/32", false),
        ("169.254.170.2/32", false),
        ("100.100.100.200/32", false),
        ("192.0.0.192/32", false),
        ("168.63.129.16/32", false),
        // The address next to the last one is an ordinary one.
        ("168.63.129.17/32", true),
    ];

    #[test]
    fn special_addresses_are_denied_and_globally_reachable_ones_are_not() {
        let open = policy(DefaultPolicy::Outbound, &[], &[]);
        for (block, is_reachable) in SPECIAL {
            let block: Ipv4Net = block.parse().unwrap();
            for address in [block.network(), block.broadcast()] {
                let destination = SocketAddrV4::new(address, 80);
                assert_eq!(open.allows(destination), is_reachable, "{destination}");
            }
        }
    }

    #[test]
    fn a_name_opens_no_special_address_but_private_ones() {
        let private: Vec<Ipv4Net> = [
            "10.0.0.0/8",
            "100.64.0.0/10",
            "172.16.0.0/12",
            "192.168.0.0/16",
        ]
        .map(|block| block.parse().unwrap())
        .into();
        let policy = policy(DefaultPolicy::Listed, &["any.example"], &[]);
        let name = DomainName::parse("any.example").unwrap();
        for (block, is_reachable) in SPECIAL {
            let address = block.parse::<Ipv4Net>().unwrap().network();
            policy.learn(&name, address, Duration::from_secs(60));
            let is_private = private.iter().any(|block| block.contains(&address))
                && address != Ipv4Addr::new(100, 100, 100, 200);
            let destination = SocketAddrV4::new(address, 80);
            assert_eq!(
                policy.allows(destination),
                is_reachable || is_private,
                "{destination}"
            );
        }
    }
}
