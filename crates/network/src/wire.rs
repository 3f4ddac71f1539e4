use std::collections::VecDeque;

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::{ETHERNET_HEADER_LEN, EthernetProtocol};
use tokio::sync::mpsc;

use crate::link::MTU_BYTES;
use crate::queue::Waiting;
use crate::replies::write_ethernet_header;

/// One flow's share of the wire: packets that came for it, and the way to the guest.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) from_guest: VecDeque<Waiting>,
    pub(crate) to_guest: mpsc::Sender<Vec<u8>>,
    /// Whether a packet could not be sent because too many wait for the guest.
    pub(crate) is_full: bool,
}

impl Wire {
    pub(crate) fn new(to_guest: mpsc::Sender<Vec<u8>>) -> Self {
        Self {
            from_guest: VecDeque::new(),
            to_guest,
            is_full: false,
        }
    }
}

/// A packet that arrived.
pub(crate) struct Arrived(Waiting);

/// A place in the queue to the guest.
pub(crate) struct Place<'a>(mpsc::Permit<'a, Vec<u8>>);

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Place<'a>;

    /// A packet is taken only when its answer has a place, so that none is lost.
    fn receive(&mut self, _now: Instant) -> Option<(Arrived, Place<'_>)> {
        if self.from_guest.is_empty() {
            return None;
        }
        match self.to_guest.try_reserve() {
            Ok(place) => Some((Arrived(self.from_guest.pop_front()?), Place(place))),
            Err(_) => {
                self.is_full = true;
                None
            }
        }
    }

    fn transmit(&mut self, _now: Instant) -> Option<Place<'_>> {
        match self.to_guest.try_reserve() {
            Ok(place) => Some(Place(place)),
            Err(_) => {
                self.is_full = true;
                None
            }
        }
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

impl TxToken for Place<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; ETHERNET_HEADER_LEN + length];
        write_ethernet_header(&mut frame, EthernetProtocol::Ipv4);
        let result = write(&mut frame[ETHERNET_HEADER_LEN..]);
        self.0.send(frame);
        result
    }
}
