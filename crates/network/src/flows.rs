use std::collections::HashMap;
use std::net::{IpAddr, SocketAddrV4};
use std::ops::Range;

use crate::budget::Budget;
use crate::limits::ARRIVALS_MAX;
use crate::link::GATEWAY_ADDRESS;
use crate::packet::FlowKey;
use crate::queue::{Receiver, Sender, queue};

/// The ports of the gateway that published ports' clients appear at: the dynamic ones.
const GATEWAY_PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;

/// Who began a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Guest,
    /// Somebody at this address, who came to a published port.
    Peer(IpAddr),
}

/// The flows of one protocol, each a queue of packets that a task takes from.
///
/// Flows that begin outside have a share that is smaller than the whole, so that whoever reaches a
/// published port leaves the guest its own. Of this share one peer gets no more than it leaves to
/// others.
#[derive(Debug)]
pub(crate) struct Flows {
    open: HashMap<FlowKey, Flow>,
    limit: usize,
    /// What the packets of all flows may take.
    queued: Budget,
    next_port: u16,
}

#[derive(Debug)]
struct Flow {
    queue: Sender,
    origin: Origin,
}

impl Flows {
    pub(crate) fn new(limit: usize, queued: Budget) -> Self {
        Self {
            open: HashMap::new(),
            limit,
            queued,
            next_port: *GATEWAY_PORTS.start(),
        }
    }

    /// Hands a packet to its flow. `false` where there is none. A flow that has too many waiting loses it.
    pub(crate) fn deliver(&mut self, key: &FlowKey, packet: &[u8], payload: Range<usize>) -> bool {
        let Some(flow) = self.open.get(key) else {
            return false;
        };
        let is_there = flow.queue.send(packet, payload).is_ok();
        if !is_there {
            self.open.remove(key);
        }
        is_there
    }

    /// Returns a new flow's queue, or `None` where there are too many flows. Nothing waits in it before
    /// it is opened.
    pub(crate) fn open(&mut self, key: FlowKey, origin: Origin) -> Option<Receiver> {
        if !self.has_room(origin) {
            self.open.retain(|_, flow| !flow.queue.is_closed());
        }
        if !self.has_room(origin) {
            return None;
        }
        let (sender, receiver) = queue(&self.queued);
        let flow = Flow {
            queue: sender,
            origin,
        };
        self.open.insert(key, flow);
        Some(receiver)
    }

    fn has_room(&self, origin: Origin) -> bool {
        if self.open.len() >= self.limit {
            return false;
        }
        if origin == Origin::Guest {
            return true;
        }
        let (mut arrivals, mut of_peer) = (0, 0);
        for flow in self.open.values() {
            arrivals += usize::from(flow.origin != Origin::Guest);
            of_peer += usize::from(flow.origin == origin);
        }
        of_peer < ARRIVALS_MAX.saturating_sub(arrivals)
    }

    /// Returns a key for a flow to `guest_port` that begins outside.
    pub(crate) fn key_from_outside(&mut self, guest_port: u16) -> Option<FlowKey> {
        for _ in GATEWAY_PORTS {
            let port = self.next_port;
            self.next_port = match port == *GATEWAY_PORTS.end() {
                true => *GATEWAY_PORTS.start(),
                false => port + 1,
            };
            let key = FlowKey {
                guest_port,
                remote: SocketAddrV4::new(GATEWAY_ADDRESS, port),
            };
            if self
                .open
                .get(&key)
                .is_none_or(|flow| flow.queue.is_closed())
            {
                return Some(key);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(limit: usize) -> Flows {
        Flows::new(limit, Budget::new(1 << 20))
    }

    /// Opens as many flows as there is room for.
    fn fill(flows: &mut Flows, origin: Origin) -> Vec<Receiver> {
        let open = || {
            let key = flows.key_from_outside(80).unwrap();
            flows.open(key, origin)
        };
        std::iter::from_fn(open).collect()
    }

    fn peer(number: u8) -> Origin {
        Origin::Peer(IpAddr::from([192, 0, 2, number]))
    }

    #[test]
    fn flows_are_bounded_and_ended_ones_make_room() {
        let mut flows = flows(2);
        let keys: Vec<_> = (0..3)
            .map(|_| flows.key_from_outside(80).unwrap())
            .collect();
        let first = flows.open(keys[0], Origin::Guest).unwrap();
        let mut second = flows.open(keys[1], Origin::Guest).unwrap();
        assert!(flows.open(keys[2], Origin::Guest).is_none());
        drop(first);
        assert!(flows.open(keys[2], Origin::Guest).is_some());
        assert!(!flows.deliver(&keys[0], b"1", 0..1));
        second.open();
        assert!(flows.deliver(&keys[1], b"2", 0..1));
        assert_eq!(second.try_recv().unwrap().packet(), b"2");
    }

    #[test]
    fn arrivals_leave_the_guest_its_own_flows() {
        let mut flows = flows(1024);
        let arrivals: Vec<_> = (0..=255)
            .flat_map(|number| fill(&mut flows, peer(number)))
            .collect();
        assert_eq!(arrivals.len(), ARRIVALS_MAX);
        assert_eq!(fill(&mut flows, Origin::Guest).len(), 1024 - ARRIVALS_MAX);
    }

    #[test]
    fn one_peer_leaves_room_for_others() {
        let mut flows = flows(1024);
        let first = fill(&mut flows, peer(1));
        assert_eq!(first.len(), ARRIVALS_MAX / 2);
        let second = fill(&mut flows, peer(2));
        assert_eq!(second.len(), ARRIVALS_MAX / 4);
        drop(first);
        // Those that have ended count no more.
        assert!(!fill(&mut flows, peer(1)).is_empty());
    }
}
