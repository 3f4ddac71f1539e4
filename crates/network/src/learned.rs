use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::ports::Ports;

/// The largest number of addresses kept. Addresses beyond it stay closed.
const ADDRESSES_MAX: usize = 4096;
/// The largest number of rules that may open one address.
const RULES_MAX: usize = 16;
/// The shortest time that an address is kept: programs connect some time after they resolve.
const KEPT_MIN: Duration = Duration::from_secs(60);
/// The longest time that an address is kept.
const KEPT_MAX: Duration = Duration::from_secs(24 * 3600);

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
}

#[derive(Debug, Clone, Copy)]
struct Opening {
    by: Opener,
    until: Instant,
}

/// A destination that a name opens, or several that have its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The index of a rule that opens it.
    pub(crate) rule: usize,
    /// True if the TLS of a name is ended there.
    pub(crate) ends_tls: bool,
    /// True if more than the requests of HTTPS that are allowed may get to a name.
    pub(crate) passes: bool,
}

impl Opener {
    fn is_like(&self, other: &Self) -> bool {
        let of = |opener: &Self| (opener.ports, opener.ends_tls, opener.passes);
        of(self) == of(other)
    }

    const fn opened(&self) -> Opened {
        Opened {
            rule: self.rule,
            ends_tls: self.ends_tls,
            passes: self.passes,
        }
    }
}

impl Learned {
    /// Opens the ports of a rule at an address for `ttl`.
    pub(crate) fn add(&self, address: Ipv4Addr, by: Opener, ttl: Duration, now: Instant) {
        let until = now + ttl.clamp(KEPT_MIN, KEPT_MAX);
        let mut addresses = self.lock();
        if addresses.len() >= ADDRESSES_MAX {
            forget(&mut addresses, now);
        }
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&address) {
            return;
        }
        let openings = addresses.entry(address).or_default();
        if let Some(known) = openings.iter_mut().find(|known| known.by.is_like(&by)) {
            known.by.rule = by.rule;
            known.until = known.until.max(until);
        } else if openings.len() < RULES_MAX {
            openings.push(Opening { by, until });
        }
    }

    /// Returns the rules that open a destination, as one; `None` if none does.
    pub(crate) fn opens(&self, destination: SocketAddrV4, now: Instant) -> Option<Opened> {
        let is_open = |opening: &&Opening| {
            let has_port = |ports: Ports| ports.contain(destination.port());
            now < opening.until && opening.by.ports.is_none_or(has_port)
        };
        let addresses = self.lock();
        let openings = addresses.get(destination.ip())?.iter().filter(is_open);
        let opened = openings.map(|opening| opening.by.opened());
        opened.reduce(|first, next| Opened {
            rule: first.rule,
            ends_tls: first.ends_tls || next.ends_tls,
            passes: first.passes || next.passes,
        })
    }

    /// Locks the map. Every change to it is complete within one lock, so a panic leaves it
    /// consistent.
    fn lock(&self) -> MutexGuard<'_, HashMap<Ipv4Addr, Vec<Opening>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(addresses: &mut HashMap<Ipv4Addr, Vec<Opening>>, now: Instant) {
    addresses.retain(|_, openings| {
        openings.retain(|opening| now < opening.until);
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
        }
    }

    #[test]
    fn an_address_is_open_for_its_time() {
        let (learned, now) = (Learned::default(), Instant::now());
        let opens = |after_s| {
            let later = now + Duration::from_secs(after_s);
            let opened = learned.opens(SocketAddrV4::new(ADDRESS, 443), later);
            opened.map(|opened| opened.rule)
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
        let opens = |port, after_s| {
            let later = now + Duration::from_secs(after_s);
            learned.opens(SocketAddrV4::new(ADDRESS, port), later)
        };
        let ended = Opener {
            ports: "443".parse().ok(),
            ends_tls: true,
            passes: false,
            ..opener(3)
        };
        learned.add(ADDRESS, ended, Duration::ZERO, now);
        let alone = ended.opened();
        assert_eq!((opens(443, 0), opens(80, 0)), (Some(alone), None));
        let other = Opener {
            ports: ended.ports,
            ..opener(7)
        };
        learned.add(ADDRESS, other, Duration::from_secs(300), now);
        let both = Opened {
            passes: true,
            ..alone
        };
        assert_eq!(opens(443, 0), Some(both));
        // The first name is forgotten, and its TLS is no longer ended.
        assert_eq!(opens(443, 60), Some(other.opened()));
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
