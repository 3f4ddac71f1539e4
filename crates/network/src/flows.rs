use std::collections::HashMap;
use std::net::{IpAddr, SocketAddrV4};
use std::ops::Range;

use crate::budget::Budget;
use crate::limits::ARRIVALS_MAX;
use crate::link::GATEWAY_ADDRESS;
use crate::packet::FlowKey;
use crate::queue::{Receiver, Sender, queue};

/// The gateway's ports that clients of published ports appear at: the dynamic range (RFC 6335).
const GATEWAY_PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;

/// The side that opened a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Guest,
    /// A client of a published port, with its address.
    Peer(IpAddr),
}

/// The flows of one protocol. Each is a queue of packets that a task reads.
///
/// Inbound flows may use only a part of the limit, so that clients of a published port leave the
/// rest to the guest. One peer gets at most as many of this part as it leaves free for others.
#[derive(Debug)]
pub(crate) struct Flows {
    open: HashMap<FlowKey, Flow>,
    limit: usize,
    /// The memory that the waiting packets of all flows may take.
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

    /// Passes a packet to its flow. Returns false if the flow does not exist. A flow whose queue is
    /// full loses the packet.
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

    /// Opens a flow and returns its queue. `None` if there are too many flows. The queue accepts
    /// packets only after [`Receiver::open`].
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

    /// Returns a key for an inbound flow to `guest_port`. `None` if every port of the gateway is in
    /// use.
    pub(crate) fn key_from_outside(&mut self, guest_port: u16) -> Option<FlowKey> {
        for _ in GATEWAY_PORTS {
            let port = self.next_port;
            self.next_port = if port == *GATEWAY_PORTS.end() {
                *GATEWAY_PORTS.start()
            } else {
                port + 1
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

    /// Opens as many flows as the limit allows.
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
        // Flows that have ended do not count.
        assert!(!fill(&mut flows, peer(1)).is_empty());
    }
}
