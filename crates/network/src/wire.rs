use std::collections::VecDeque;

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::{ETHERNET_HEADER_LEN, EthernetProtocol};
use tokio::sync::mpsc;

use crate::link::MTU_BYTES;
use crate::queue::Waiting;
use crate::replies::write_ethernet_header;

/// One flow's share of the wire: the packets from the guest, and the queue to the guest.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) from_guest: VecDeque<Waiting>,
    pub(crate) to_guest: mpsc::Sender<Vec<u8>>,
    /// True if a packet could not be sent because the queue to the guest is full.
    pub(crate) is_full: bool,
    /// A reserved slot of the queue. It is given back unless it is used at once.
    place: Option<mpsc::OwnedPermit<Vec<u8>>>,
}

impl Wire {
    pub(crate) fn new(to_guest: mpsc::Sender<Vec<u8>>) -> Self {
        Self {
            from_guest: VecDeque::new(),
            to_guest,
            is_full: false,
            place: None,
        }
    }

    /// Waits for a slot in the queue to the guest, in fair order. The slot is kept: a slot that
    /// were given back would go to the next waiting flow, and around all of them, without being
    /// used.
    pub(crate) async fn await_slot(&mut self) -> Result<(), Disconnected> {
        let place = self.to_guest.clone().reserve_owned().await;
        self.place = Some(place.map_err(|_| Disconnected)?);
        self.is_full = false;
        Ok(())
    }

    /// Gives back a slot that was reserved and not used.
    pub(crate) fn leave_place(&mut self) {
        self.place = None;
    }

    fn take_slot(&mut self) -> Option<QueueSlot> {
        let free = || self.to_guest.clone().try_reserve_owned().ok();
        let place = self.place.take().or_else(free);
        self.is_full |= place.is_none();
        place.map(QueueSlot)
    }
}

/// The queue to the guest is closed.
#[derive(Debug)]
pub(crate) struct Disconnected;

/// A packet that arrived from the guest.
pub(crate) struct Arrived(Waiting);

/// A reserved slot in the queue to the guest.
pub(crate) struct QueueSlot(mpsc::OwnedPermit<Vec<u8>>);

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = QueueSlot;

    /// Takes a packet only if its answer has a slot, so that no answer is lost.
    fn receive(&mut self, _now: Instant) -> Option<(Arrived, QueueSlot)> {
        if self.from_guest.is_empty() {
            return None;
        }
        let place = self.take_slot()?;
        Some((Arrived(self.from_guest.pop_front()?), place))
    }

    fn transmit(&mut self, _now: Instant) -> Option<QueueSlot> {
        self.take_slot()
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = usize::from(MTU_BYTES);
        capabilities
    }
}

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0.packet())
    }
}

impl TxToken for QueueSlot {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; ETHERNET_HEADER_LEN + length];
        write_ethernet_header(&mut frame, EthernetProtocol::Ipv4);
        let result = write(&mut frame[ETHERNET_HEADER_LEN..]);
        self.0.send(frame);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_that_was_waited_for_is_there_to_be_used() {
        let (to_guest, mut frames) = mpsc::channel(1);
        let mut wires = [Wire::new(to_guest.clone()), Wire::new(to_guest)];
        let now = Instant::ZERO;
        let first = wires[0].transmit(now).unwrap();
        assert!(wires[1].transmit(now).is_none() && wires[1].is_full);
        first.consume(1, |_| ());
        assert!(wires[0].transmit(now).is_none());
        let [one, other] = &mut wires;
        // Both wait, and one frame is taken. One of them gets its slot, and the other does not take
        // it away.
        let waiting = async {
            tokio::select! {
                biased;
                place = one.await_slot() => place.unwrap(),
                _ = other.await_slot() => panic!("it came later"),
            }
        };
        let taking = async { frames.recv().await.unwrap() };
        tokio::join!(waiting, taking);
        assert!(other.transmit(now).is_none());
        one.transmit(now).unwrap().consume(1, |_| ());
        assert!(frames.try_recv().is_ok());
        one.leave_place();
        assert!(other.transmit(now).is_some());
    }
}
