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

#[derive(Debug, Clone, Copy)]
struct Opening {
    ports: Option<Ports>,
    /// The index of the rule whose name was resolved last.
    rule: usize,
    until: Instant,
}

impl Learned {
    /// Opens these ports of an address for `ttl`, because of the rule with this index.
    pub(crate) fn add(
        &self,
        address: Ipv4Addr,
        (rule, ports): (usize, Option<Ports>),
        ttl: Duration,
        now: Instant,
    ) {
        let opening = Opening {
            ports,
            rule,
            until: now + ttl.clamp(KEPT_MIN, KEPT_MAX),
        };
        let mut addresses = self.lock();
        if addresses.len() >= ADDRESSES_MAX {
            forget(&mut addresses, now);
        }
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&address) {
            return;
        }
        let openings = addresses.entry(address).or_default();
        if let Some(known) = openings.iter_mut().find(|known| known.ports == ports) {
            known.rule = rule;
            known.until = known.until.max(opening.until);
        } else if openings.len() < RULES_MAX {
            openings.push(opening);
        }
    }

    /// Returns the index of the rule that opens a destination; `None` if none does.
    pub(crate) fn opens(&self, destination: SocketAddrV4, now: Instant) -> Option<usize> {
        let is_open = |opening: &Opening| {
            let has_port = |ports: Ports| ports.contain(destination.port());
            now < opening.until && opening.ports.is_none_or(has_port)
        };
        let addresses = self.lock();
        let mut openings = addresses.get(destination.ip())?.iter();
        openings
            .find(|opening| is_open(opening))
            .map(|opening| opening.rule)
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

    #[test]
    fn an_address_is_open_for_its_time() {
        let (learned, now) = (Learned::default(), Instant::now());
        let opens = |after_s| {
            let later = now + Duration::from_secs(after_s);
            learned.opens(SocketAddrV4::new(ADDRESS, 443), later)
        };
        learned.add(ADDRESS, (0, None), Duration::ZERO, now);
        assert_eq!((opens(59), opens(60)), (Some(0), None));
        // The rule is that of the last name.
        learned.add(ADDRESS, (7, None), Duration::from_secs(300), now);
        assert_eq!((opens(299), opens(300)), (Some(7), None));
        let longest = Duration::from_secs(u64::from(u32::MAX));
        learned.add(ADDRESS, (0, None), longest, now);
        assert_eq!(opens(24 * 3600), None);
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (learned, now) = (Learned::default(), Instant::now());
        let address = |number: u32| Ipv4Addr::from_bits(ADDRESS.to_bits() + number);
        for number in 0..=u32::try_from(ADDRESSES_MAX).unwrap() {
            learned.add(address(number), (0, None), Duration::ZERO, now);
        }
        assert_eq!(learned.lock().len(), ADDRESSES_MAX);
        let later = now + KEPT_MIN;
        learned.add(address(9999), (0, None), Duration::ZERO, later);
        assert_eq!(learned.lock().len(), 1);
    }
}
