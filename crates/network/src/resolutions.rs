use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::learned::{KEPT_MAX, KEPT_MIN};
use crate::name::DomainName;

/// The largest number of resolutions that are kept. The oldest ones are forgotten.
const RESOLUTIONS_MAX: usize = 4096;

/// An address that a name was resolved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolution {
    /// The text of the name, which takes less memory than its labels.
    pub(crate) name: Box<str>,
    pub(crate) address: Ipv4Addr,
    /// The end of the time for which a rule of the name opens the address.
    pub(crate) until: Instant,
}

/// The last resolutions, from which changed rules learn the addresses of their names: programs keep addresses, and do
/// not resolve names again because rules have changed.
#[derive(Debug, Default)]
pub(crate) struct Resolutions(Mutex<VecDeque<Resolution>>);

impl Resolutions {
    pub(crate) fn add(&self, name: &DomainName, address: Ipv4Addr, ttl: Duration) {
        let new = Resolution {
            name: name.to_string().into(),
            address,
            until: Instant::now() + ttl.clamp(KEPT_MIN, KEPT_MAX),
        };
        let mut all = self.lock();
        let is_same = |known: &Resolution| known.address == address && known.name == new.name;
        if let Some(known) = all.iter_mut().find(|known| is_same(known)) {
            known.until = known.until.max(new.until);
            return;
        }
        if all.len() >= RESOLUTIONS_MAX {
            all.pop_front();
        }
        all.push_back(new);
    }

    /// Adds a resolution of before, which is none of these.
    pub(crate) fn keep(&self, known: Resolution) {
        let mut all = self.lock();
        if all.len() < RESOLUTIONS_MAX {
            all.push_back(known);
        }
    }

    /// Returns all resolutions, the oldest first.
    pub(crate) fn all(&self) -> Vec<Resolution> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Resolution>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_resolutions_are_kept_each_once() {
        let resolutions = Resolutions::default();
        let name = DomainName::parse("a.test").unwrap();
        for _ in 0..2 {
            for number in 0..=u32::try_from(RESOLUTIONS_MAX).unwrap() {
                resolutions.add(&name, Ipv4Addr::from_bits(number), Duration::ZERO);
            }
        }
        assert_eq!(resolutions.all().len(), RESOLUTIONS_MAX);
        let last = Ipv4Addr::from_bits(4096);
        resolutions.add(&name, last, Duration::from_secs(300));
        let all = resolutions.all();
        let of_last: Vec<_> = all.iter().filter(|known| known.address == last).collect();
        assert_eq!(of_last.len(), 1);
        assert!(of_last[0].until > Instant::now() + KEPT_MIN);
    }
}
