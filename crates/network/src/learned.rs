use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::decision::TlsEnd;
use crate::ports::Ports;

/// The largest number of addresses kept. Addresses beyond it stay closed.
const ADDRESSES_MAX: usize = 4096;
/// The largest number of rules that may open one address.
const RULES_MAX: usize = 16;
/// The shortest time that an address is kept: programs connect some time after they resolve.
pub(crate) const KEPT_MIN: Duration = Duration::from_secs(60);
/// The longest time that an address is kept.
pub(crate) const KEPT_MAX: Duration = Duration::from_secs(24 * 3600);

/// Addresses that names of `allow` rules were resolved to.
#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<HashMap<Ipv4Addr, Vec<Opening>>>);

/// A rule of names, which opens an address that one of them was resolved to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opener {
    /// The index of the rule. Of rules that are otherwise equal, it is the one whose name was
    /// resolved last.
    pub(crate) rule: usize,
    pub(crate) ports: Option<Ports>,
    /// True if TLS is ended at these ports.
    pub(crate) ends_tls: bool,
    /// True if more than the requests of HTTPS that are allowed may get to the name.
    pub(crate) passes: bool,
    /// True if private addresses are opened, too.
    pub(crate) opens_private: bool,
}

#[derive(Debug, Clone, Copy)]
struct Opening {
    by: Opener,
    /// The end of the time in which the rule opens the address.
    until: Instant,
    /// The end of the time in which TLS is ended there. It is longer: programs that keep an address
    /// are not to send a placeholder past the edge, and the edge has the host prove its name.
    kept_until: Instant,
}

impl Opener {
    fn is_like(&self, other: &Self) -> bool {
        let of = |opener: &Self| {
            (
                opener.ports,
                opener.ends_tls,
                opener.passes,
                opener.opens_private,
            )
        };
        of(self) == of(other)
    }

    fn has_port(&self, port: u16) -> bool {
        self.ports.is_none_or(|ports| ports.contain(port))
    }
}

impl Learned {
    /// Opens the ports of a rule at an address for `ttl`.
    pub(crate) fn add(&self, address: Ipv4Addr, by: Opener, ttl: Duration, now: Instant) {
        self.put(address, by, now + ttl.clamp(KEPT_MIN, KEPT_MAX), now);
    }

    /// Has TLS ended at the ports of a rule at an address, if the rule ends it, and opens nothing.
    pub(crate) fn keep(&self, address: Ipv4Addr, by: Opener, now: Instant) {
        if by.ends_tls {
            self.put(address, by, now, now);
        }
    }

    fn put(&self, address: Ipv4Addr, by: Opener, until: Instant, now: Instant) {
        let kept_until = if by.ends_tls { now + KEPT_MAX } else { until };
        let mut addresses = self.lock();
        if addresses.len() >= ADDRESSES_MAX {
            forget(&mut addresses, now);
        }
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&address) {
            return;
        }
        let openings = addresses.entry(address).or_default();
        if let Some(known) = openings.iter_mut().find(|known| known.by.is_like(&by)) {
            if now < until {
                known.by.rule = by.rule;
            }
            known.until = known.until.max(until);
            known.kept_until = known.kept_until.max(kept_until);
        } else if openings.len() < RULES_MAX {
            openings.push(Opening {
                by,
                until,
                kept_until,
            });
        }
    }

    /// Returns the index of the rule that opens a destination; `None` if none does.
    pub(crate) fn opens(&self, destination: SocketAddrV4, now: Instant) -> Option<usize> {
        self.opener(destination, now, |_| true)
    }

    /// Does the same for a destination at a private address.
    pub(crate) fn opens_private(&self, destination: SocketAddrV4, now: Instant) -> Option<usize> {
        self.opener(destination, now, |by| by.opens_private)
    }

    fn opener(
        &self,
        destination: SocketAddrV4,
        now: Instant,
        counts: impl Fn(&Opener) -> bool,
    ) -> Option<usize> {
        let addresses = self.lock();
        let mut openings = addresses.get(destination.ip())?.iter();
        let opening = openings.find(|opening| {
            now < opening.until && opening.by.has_port(destination.port()) && counts(&opening.by)
        });
        opening.map(|opening| opening.by.rule)
    }

    /// Returns the treatment of TLS at a destination; `None` if it is not ended for any name.
    pub(crate) fn ends(&self, destination: SocketAddrV4, now: Instant) -> Option<TlsEnd> {
        let addresses = self.lock();
        let openings = addresses.get(destination.ip())?.iter();
        let known = openings
            .filter(|opening| now < opening.kept_until && opening.by.has_port(destination.port()));
        let (ends_tls, passes) = known.fold((false, false), |(ends_tls, passes), opening| {
            let by = &opening.by;
            (ends_tls || by.ends_tls, passes || by.passes)
        });
        ends_tls.then_some(TlsEnd { passes })
    }

    /// Locks the map. Every change to it is complete within one lock, so a panic leaves it
    /// consistent.
    fn lock(&self) -> MutexGuard<'_, HashMap<Ipv4Addr, Vec<Opening>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(addresses: &mut HashMap<Ipv4Addr, Vec<Opening>>, now: Instant) {
    addresses.retain(|_, openings| {
        openings.retain(|opening| now < opening.kept_until);
        !openings.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

    const fn opener(rule: usize) -> Opener {
        Opener {
            rule,
            ports: None,
            ends_tls: false,
            passes: true,
            opens_private: true,
        }
    }

    #[test]
    fn an_address_is_open_for_its_time() {
        let (learned, now) = (Learned::default(), Instant::now());
        let opens = |after_s| {
            let later = now + Duration::from_secs(after_s);
            learned.opens(SocketAddrV4::new(ADDRESS, 443), later)
        };
        learned.add(ADDRESS, opener(0), Duration::ZERO, now);
        assert_eq!((opens(59), opens(60)), (Some(0), None));
        // The rule is that of the last name.
        learned.add(ADDRESS, opener(7), Duration::from_secs(300), now);
        assert_eq!((opens(299), opens(300)), (Some(7), None));
        let longest = Duration::from_secs(u64::from(u32::MAX));
        learned.add(ADDRESS, opener(0), longest, now);
        assert_eq!(opens(24 * 3600), None);
    }

    #[test]
    fn names_of_one_address_are_told_apart() {
        let (learned, now) = (Learned::default(), Instant::now());
        let at = |port| SocketAddrV4::new(ADDRESS, port);
        let ends = |port, later| {
            let end = learned.ends(at(port), now + Duration::from_secs(later));
            end.map(|end| end.passes)
        };
        let ended = Opener {
            ports: "443".parse().ok(),
            ends_tls: true,
            passes: false,
            ..opener(3)
        };
        learned.add(ADDRESS, ended, Duration::ZERO, now);
        assert_eq!((ends(443, 0), ends(80, 0)), (Some(false), None));
        // The rule opens the address no longer, but its TLS is ended.
        let later = now + KEPT_MIN;
        assert_eq!(learned.opens(at(443), later), None);
        assert_eq!((ends(443, 3600), ends(443, 24 * 3600)), (Some(false), None));
        let other = Opener {
            ports: ended.ports,
            ..opener(7)
        };
        learned.add(ADDRESS, other, Duration::from_secs(300), now);
        assert_eq!((ends(443, 0), ends(443, 300)), (Some(true), Some(false)));
        assert_eq!(learned.opens(at(443), now), Some(3));
        assert_eq!(learned.opens(at(443), later), Some(7));
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (learned, now) = (Learned::default(), Instant::now());
        let address = |number: u32| Ipv4Addr::from_bits(ADDRESS.to_bits() + number);
        for number in 0..=u32::try_from(ADDRESSES_MAX).unwrap() {
            learned.add(address(number), opener(0), Duration::ZERO, now);
        }
        assert_eq!(learned.lock().len(), ADDRESSES_MAX);
        let later = now + KEPT_MIN;
        learned.add(address(9999), opener(0), Duration::ZERO, later);
        assert_eq!(learned.lock().len(), 1);
    }
}
