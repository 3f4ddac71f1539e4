use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use ipnet::Ipv4Net;
use msb_secrets::HttpsDestination;
use tokio::time::Instant;

use crate::allowed_once::AllowedOnce;
use crate::decision::{Decision, Reason, TlsEnd};
use crate::learned::{Learned, Opener};
use crate::name::DomainName;
use crate::own_address::is_own_address;
use crate::resolutions::Resolutions;
use crate::{DefaultPolicy, NetworkRules, Rule, Settings};

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
///
/// A destination of HTTPS, of a secret or of a request that is allowed, implies an `allow` rule of
/// its name and port.
#[derive(Debug)]
pub(crate) struct Policy {
    reach: DefaultPolicy,
    /// The rules that are implied by requests, those that are implied by secrets, and the user's.
    allow: Vec<Rule>,
    /// The number of rules that are implied by requests, and of all that are implied.
    of_requests: usize,
    implied: usize,
    deny: Vec<Rule>,
    /// The requests that imply the first rules.
    requests: Arc<[HttpsDestination]>,
    learned: Learned,
    /// True if the user is asked about destinations that no rule denies.
    asks: bool,
    allowed_once: AllowedOnce,
    resolutions: Resolutions,
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
    (LOOPBACK, false),
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

/// The reason that denies a destination by default.
struct Denial {
    reason: Reason<'static>,
    /// The length of the prefix that an `allow` rule needs to open it.
    bits: u8,
    opens_by_name: bool,
}

/// The host's loopback is one host, and a rule may open it as one.
const LOOPBACK: Ipv4Net = net(Ipv4Addr::new(127, 0, 0, 0), 8);

impl Policy {
    pub(crate) fn new(settings: &Settings) -> Self {
        let of_secrets = settings.secrets.iter().flat_map(|secret| &secret.to);
        let of_secrets: Vec<_> = of_secrets.filter_map(Rule::implied_by).collect();
        Self::of_rules(settings.rules(), &of_secrets, settings.asks)
    }

    fn of_rules(rules: NetworkRules, of_secrets: &[Rule], asks: bool) -> Self {
        let requests = rules.requests.iter().filter_map(Rule::implied_by);
        let mut allow: Vec<_> = requests.collect();
        let of_requests = allow.len();
        allow.extend_from_slice(of_secrets);
        let implied = allow.len();
        allow.extend(rules.allow);
        Self {
            reach: rules.reach,
            allow,
            of_requests,
            implied,
            deny: rules.deny,
            requests: rules.requests.into(),
            learned: Learned::default(),
            asks,
            allowed_once: AllowedOnce::default(),
            resolutions: Resolutions::default(),
            is_own: is_own_address,
        }
    }

    /// Decides whether the guest may connect to `destination`.
    pub(crate) fn decide(&self, destination: SocketAddrV4) -> Decision<'_> {
        let (address, port) = (*destination.ip(), destination.port());
        if NEVER.iter().any(|range| range.contains(&address)) {
            return Decision::denied(Reason::Never);
        }
        let range = |rule: &Rule| rule.range_of(address, port).copied();
        if let Some(rule) = self.deny.iter().find(|rule| range(rule).is_some()) {
            return Decision::denied(Reason::Rule(rule));
        }
        let denial = self.denial(address);
        let needed_bits = denial.as_ref().map_or(0, |denial| denial.bits);
        let opens = |range: Ipv4Net| range.prefix_len() >= needed_bits;
        let mut allow = self.allow.iter();
        if let Some(rule) = allow.find(|rule| range(rule).is_some_and(opens)) {
            return Decision::allowed(Reason::Rule(rule));
        }
        let now = Instant::now();
        let opener = match &denial {
            None => self.learned.opens(destination, now),
            Some(denial) if denial.opens_by_name => self.learned.opens_private(destination, now),
            Some(_) => None,
        };
        if let Some(index) = opener {
            // An address of a name that the user has allowed once has no rule.
            let rule = self.allow.get(index).map(Reason::Rule);
            return Decision::allowed(rule.unwrap_or(Reason::Asked));
        }
        match denial {
            Some(denial) => Decision::denied(denial.reason),
            None if self.reach == DefaultPolicy::Outbound && self.evades_names(port) => {
                Decision::denied(Reason::Resolver)
            }
            None => self.default(),
        }
    }

    /// Decides whether the guest may query `name`.
    pub(crate) fn decide_name(&self, name: &DomainName) -> Decision<'_> {
        let named = |rule: &&Rule| rule.names(name);
        if let Some(rule) = self.deny.iter().find(named) {
            return Decision::denied(Reason::Rule(rule));
        }
        match self.allow.iter().find(named) {
            Some(rule) => Decision::allowed(Reason::Rule(rule)),
            None if self.allowed_once.has(name, Instant::now()) => Decision::allowed(Reason::Asked),
            None => self.default(),
        }
    }

    /// Returns the decision where no rule applies.
    const fn default(&self) -> Decision<'_> {
        let reason = Reason::Default(self.reach);
        match self.reach {
            DefaultPolicy::Outbound => Decision::allowed(reason),
            DefaultPolicy::Listed => Decision::denied(reason),
        }
    }

    /// Returns the treatment of a connection's TLS if the connection was allowed for `reason`.
    /// `None` if no name whose TLS is ended was resolved to the destination.
    pub(crate) fn tls_end(&self, destination: SocketAddrV4, reason: Reason<'_>) -> Option<TlsEnd> {
        let end = self.learned.ends(destination, Instant::now())?;
        // A rule of addresses, or the default, opens the address without any name. An answer of the user does not: it is
        // about a name, and the rules for its requests hold.
        let is_open = match reason {
            Reason::Rule(rule) => !rule.is_of_names(),
            Reason::Default(reach) => reach == DefaultPolicy::Outbound,
            _ => false,
        };
        Some(TlsEnd {
            passes: end.passes || is_open,
        })
    }

    /// Returns true if the TLS of this host is ended.
    pub(crate) fn ends_tls_of(&self, host: &DomainName) -> bool {
        self.allow[..self.implied]
            .iter()
            .any(|rule| rule.names(host))
    }

    /// Records an address that `name` was resolved to, which the guest may use for `ttl`.
    pub(crate) fn learn(&self, name: &DomainName, address: Ipv4Addr, ttl: Duration) {
        self.resolutions.add(name, address, ttl);
        self.open(name, address, Some(ttl));
    }

    /// Opens an address for `ttl` to the rules that have its name. Without a time, or if the name is denied, only TLS is
    /// ended there.
    fn open(&self, name: &DomainName, address: Ipv4Addr, ttl: Option<Duration>) {
        let now = Instant::now();
        let ttl = ttl.filter(|_| !self.denies_name(name));
        let of_requests = &self.allow[..self.of_requests];
        let passes = !of_requests.iter().any(|rule| rule.names(name));
        for (index, rule) in self.allow.iter().enumerate() {
            if rule.names(name) {
                let opener = Opener {
                    rule: index,
                    ports: rule.ports,
                    ends_tls: index < self.implied,
                    passes,
                    opens_private: true,
                };
                match ttl {
                    Some(ttl) => self.learned.add(address, opener, ttl, now),
                    None => self.learned.keep(address, opener, now),
                }
            }
        }
        if ttl.is_some() && self.allowed_once.has(name, now) {
            let once = Opener {
                rule: usize::MAX,
                ports: None,
                ends_tls: false,
                passes: true,
                // The guest has chosen the name, and may have it lead to any address.
                opens_private: false,
            };
            self.learned.add(address, once, Duration::ZERO, now);
        }
    }

    fn denial(&self, address: Ipv4Addr) -> Option<Denial> {
        if (self.is_own)(address) {
            let (reason, bits) = if address.is_loopback() {
                (Reason::Range(LOOPBACK), LOOPBACK.prefix_len())
            } else {
                (Reason::Host, 32)
            };
            return Some(Denial {
                reason,
                bits,
                opens_by_name: false,
            });
        }
        let found = DENIED.iter().find(|(range, _)| range.contains(&address));
        found.map(|&(range, opens_by_name)| Denial {
            reason: Reason::Range(range),
            bits: range.prefix_len(),
            opens_by_name,
        })
    }

    /// Returns true if another resolver at this port could answer for names that are denied here.
    fn evades_names(&self, port: u16) -> bool {
        NAME_SERVICE_PORTS.contains(&port) && self.deny.iter().any(Rule::is_of_names)
    }
}

mod asked;
mod changed;
#[cfg(test)]
mod tests;
