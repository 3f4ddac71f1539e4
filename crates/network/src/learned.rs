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
    until: Instant,
}

impl Learned {
    pub(crate) fn add(&self, address: Ipv4Addr, ports: Option<Ports>, ttl: Duration, now: Instant) {
        let opening = Opening {
            ports,
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
            known.until = known.until.max(opening.until);
        } else if openings.len() < RULES_MAX {
            openings.push(opening);
        }
    }

    pub(crate) fn opens(&self, destination: SocketAddrV4, now: Instant) -> bool {
        let is_open = |opening: &Opening| {
            let has_port = |ports: Ports| ports.contain(destination.port());
            now < opening.until && opening.ports.is_none_or(has_port)
        };
        let addresses = self.lock();
        let openings = addresses.get(destination.ip());
        openings.is_some_and(|openings| openings.iter().any(is_open))
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
        learned.add(ADDRESS, None, Duration::ZERO, now);
        assert!(opens(59) && !opens(60));
        learned.add(ADDRESS, None, Duration::from_secs(300), now);
        assert!(opens(299) && !opens(300));
        learned.add(ADDRESS, None, Duration::from_secs(u64::from(u32::MAX)), now);
        assert!(!opens(24 * 3600));
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (learned, now) = (Learned::default(), Instant::now());
        let address = |number: u32| Ipv4Addr::from_bits(ADDRESS.to_bits() + number);
        for number in 0..=u32::try_from(ADDRESSES_MAX).unwrap() {
            learned.add(address(number), None, Duration::ZERO, now);
        }
        assert_eq!(learned.lock().len(), ADDRESSES_MAX);
        let later = now + KEPT_MIN;
        learned.add(address(9999), None, Duration::ZERO, later);
        assert_eq!(learned.lock().len(), 1);
    }
}
