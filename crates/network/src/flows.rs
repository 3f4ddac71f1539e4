use std::collections::HashMap;

use tokio::sync::mpsc;

use crate::limits::FLOW_QUEUE_PACKETS;
use crate::link::GATEWAY_ADDRESS;
use crate::packet::FlowKey;

/// The ports of the gateway that published ports' clients appear at: the dynamic ones.
const GATEWAY_PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;

/// The flows of one protocol, each a queue of packets that a task takes from.
#[derive(Debug)]
pub(crate) struct Flows<T> {
    queues: HashMap<FlowKey, mpsc::Sender<T>>,
    limit: usize,
    next_port: u16,
}

impl<T> Flows<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            queues: HashMap::new(),
            limit,
            next_port: *GATEWAY_PORTS.start(),
        }
    }

    /// Hands a packet to its flow, and gives it back where there is none. A flow that has too many
    /// waiting loses it.
    pub(crate) fn deliver(&mut self, key: &FlowKey, packet: T) -> Option<T> {
        let Some(queue) = self.queues.get(key) else {
            return Some(packet);
        };
        match queue.try_send(packet) {
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => None,
            Err(mpsc::error::TrySendError::Closed(packet)) => {
                self.queues.remove(key);
                Some(packet)
            }
        }
    }

    /// A new flow's queue; `None` where there are too many flows.
    pub(crate) fn open(&mut self, key: FlowKey) -> Option<mpsc::Receiver<T>> {
        if self.queues.len() >= self.limit {
            self.queues.retain(|_, queue| !queue.is_closed());
        }
        if self.queues.len() >= self.limit {
            return None;
        }
        let (sender, receiver) = mpsc::channel(FLOW_QUEUE_PACKETS);
        self.queues.insert(key, sender);
        Some(receiver)
    }

    /// A key for a flow to `guest_port` that begins outside.
    pub(crate) fn key_from_outside(&mut self, guest_port: u16) -> Option<FlowKey> {
        for _ in GATEWAY_PORTS {
            let port = self.next_port;
            self.next_port = match port == *GATEWAY_PORTS.end() {
                true => *GATEWAY_PORTS.start(),
                false => port + 1,
            };
            let key = FlowKey {
                guest_port,
                remote: std::net::SocketAddrV4::new(GATEWAY_ADDRESS, port),
            };
            if self.queues.get(&key).is_none_or(mpsc::Sender::is_closed) {
                return Some(key);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_bounded_and_ended_ones_make_room() {
        let mut flows = Flows::new(2);
        let keys: Vec<_> = (0..3)
            .map(|_| flows.key_from_outside(80).unwrap())
            .collect();
        let first = flows.open(keys[0]).unwrap();
        let mut second = flows.open(keys[1]).unwrap();
        assert!(flows.open(keys[2]).is_none());
        drop(first);
        assert!(flows.open(keys[2]).is_some());
        assert_eq!(flows.deliver(&keys[0], 1), Some(1));
        assert_eq!(flows.deliver(&keys[1], 2), None);
        assert_eq!(second.try_recv(), Ok(2));
    }

    #[test]
    fn a_full_queue_loses_packets() {
        let mut flows = Flows::new(1);
        let key = flows.key_from_outside(80).unwrap();
        let mut queue = flows.open(key).unwrap();
        for number in 0..FLOW_QUEUE_PACKETS + 5 {
            assert_eq!(flows.deliver(&key, number), None);
        }
        assert_eq!(queue.len(), FLOW_QUEUE_PACKETS);
        assert_eq!(queue.try_recv(), Ok(0));
    }
}
