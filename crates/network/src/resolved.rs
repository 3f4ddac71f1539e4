use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;

/// The largest number of addresses whose names are kept. The oldest ones are forgotten.
const ADDRESSES_MAX: usize = 4096;

/// The last name that the guest resolved to each address. Nothing is decided by it: a guest chooses what it asks for.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    names: HashMap<Ipv4Addr, String>,
    /// The addresses, the oldest first.
    order: VecDeque<Ipv4Addr>,
}

impl Resolved {
    pub(crate) fn add(&mut self, address: Ipv4Addr, name: &str) {
        if self.names.insert(address, name.to_owned()).is_some() {
            return;
        }
        self.order.push_back(address);
        if self.order.len() > ADDRESSES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.names.remove(&oldest);
        }
    }

    pub(crate) fn name_of(&self, address: Ipv4Addr) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_counts_and_their_number_is_bounded() {
        let address = |number: usize| Ipv4Addr::from_bits(u32::try_from(number).unwrap());
        let mut resolved = Resolved::default();
        resolved.add(address(0), "a.test");
        resolved.add(address(0), "b.test");
        assert_eq!(resolved.name_of(address(0)), Some("b.test"));
        for number in 1..ADDRESSES_MAX {
            resolved.add(address(number), "c.test");
        }
        assert!(resolved.name_of(address(0)).is_some());
        resolved.add(address(ADDRESSES_MAX), "d.test");
        assert_eq!(resolved.name_of(address(0)), None);
        assert_eq!(resolved.name_of(address(ADDRESSES_MAX)), Some("d.test"));
        let lengths = (resolved.names.len(), resolved.order.len());
        assert_eq!(lengths, (ADDRESSES_MAX, ADDRESSES_MAX));
    }
}
