//! The packets that wait for one flow. Their number and their bytes are bounded, and so are the
//! bytes of all flows together.

use std::ops::Range;

use tokio::sync::mpsc;

use crate::budget::{Budget, Claim};
use crate::limits::{FLOW_QUEUE_BYTES, FLOW_QUEUE_PACKETS};

/// The memory that the allocator and the queue add to a packet.
const PACKET_EXTRA_BYTES: usize = 128;

/// The sending end of a flow's queue.
#[derive(Debug)]
pub(crate) struct Sender {
    sender: mpsc::Sender<Waiting>,
    own: Budget,
    all: Budget,
}

/// The receiving end of a flow's queue. A packet that was taken counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Receiver {
    receiver: mpsc::Receiver<Waiting>,
    own: Budget,
}

/// A packet that waits for its flow: a copy, so that it keeps nothing else in memory.
#[derive(Debug)]
pub(crate) struct Waiting {
    packet: Box<[u8]>,
    payload: Range<usize>,
    _claims: Option<[Claim; 2]>,
}

/// The flow has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended;

/// Creates a queue that counts against `all`. It accepts no packet until it is opened.
pub(crate) fn queue(all: &Budget) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(FLOW_QUEUE_PACKETS);
    let own = Budget::new(0);
    let sender = Sender {
        sender,
        own: own.clone(),
        all: all.clone(),
    };
    (sender, Receiver { receiver, own })
}

impl Sender {
    /// Puts a copy of a packet into the queue, or drops it if there is no room.
    pub(crate) fn send(&self, packet: &[u8], payload: Range<usize>) -> Result<(), Ended> {
        if self.is_closed() {
            return Err(Ended);
        }
        let bytes = packet.len() + PACKET_EXTRA_BYTES;
        let claims = (self.own.take(bytes), self.all.take(bytes));
        let (Ok(place), (Some(own), Some(all))) = (self.sender.try_reserve(), claims) else {
            return Ok(());
        };
        place.send(Waiting {
            packet: packet.into(),
            payload,
            _claims: Some([own, all]),
        });
        Ok(())
    }

    /// Returns true if the flow has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl Receiver {
    /// Lets the queue accept packets from now on.
    pub(crate) fn open(&self) {
        self.own.set_limit(FLOW_QUEUE_BYTES);
    }

    /// Waits for the next packet. `None` if all senders are gone.
    pub(crate) async fn recv(&mut self) -> Option<Waiting> {
        self.receiver.recv().await
    }

    /// Returns the next packet. `None` if the queue is empty.
    pub(crate) fn try_recv(&mut self) -> Option<Waiting> {
        self.receiver.try_recv().ok()
    }
}

impl Waiting {
    /// Wraps a packet that no queue counts; each flow has one while it is opened.
    pub(crate) fn uncounted(packet: &[u8]) -> Self {
        Self {
            packet: packet.into(),
            payload: 0..packet.len(),
            _claims: None,
        }
    }

    pub(crate) const fn packet(&self) -> &[u8] {
        &self.packet
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.packet[self.payload.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FLOW_QUEUES_BYTES;

    fn put(sender: &Sender, bytes: usize) {
        assert_eq!(sender.send(&vec![7; bytes], 0..bytes), Ok(()));
    }

    fn waiting(receiver: &mut Receiver) -> usize {
        std::iter::from_fn(|| receiver.try_recv()).count()
    }

    #[test]
    fn nothing_waits_for_a_flow_that_is_not_open() {
        let (sender, mut receiver) = queue(&Budget::new(FLOW_QUEUES_BYTES));
        put(&sender, 1);
        assert_eq!(waiting(&mut receiver), 0);
        receiver.open();
        put(&sender, 1);
        assert_eq!(waiting(&mut receiver), 1);
        drop(receiver);
        assert_eq!(sender.send(&[], 0..0), Err(Ended));
    }

    #[test]
    fn a_flow_is_bounded_in_packets_and_bytes() {
        let (sender, mut receiver) = queue(&Budget::new(FLOW_QUEUES_BYTES));
        receiver.open();
        for (bytes, least) in [(1, FLOW_QUEUE_PACKETS), (1500, 50), (60_000, 1)] {
            for _ in 0..2 * FLOW_QUEUE_PACKETS {
                put(&sender, bytes);
            }
            let count = waiting(&mut receiver);
            assert!((least..=FLOW_QUEUE_PACKETS).contains(&count), "{count}");
            assert!(count * bytes <= FLOW_QUEUE_BYTES, "{count} of {bytes}");
        }
    }

    #[test]
    fn all_flows_together_are_bounded_in_bytes() {
        let all = Budget::new(FLOW_QUEUES_BYTES);
        let mut flows: Vec<_> = (0..1000).map(|_| queue(&all)).collect();
        for (sender, receiver) in &flows {
            receiver.open();
            for _ in 0..FLOW_QUEUE_PACKETS {
                put(sender, 1500);
            }
        }
        let count: usize = flows.iter_mut().map(|(_, flow)| waiting(flow)).sum();
        assert!(count * 1500 <= FLOW_QUEUES_BYTES && count * 1700 > FLOW_QUEUES_BYTES);
        assert_eq!(all.left_bytes(), FLOW_QUEUES_BYTES);
    }
}
