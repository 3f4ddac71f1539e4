//! Queues that break their own rules, stop and start.

use std::sync::Arc;

use vhost_user_backend::VringT as _;
use vm_memory::{Bytes as _, GuestAddress};

use super::guest;
use crate::guest::{OK, SERIAL};
use crate::in_time;
use crate::ring::{
    DATA, DESCRIPTORS, MEMORY_BYTES, QUEUE_SIZE, USED, set_available, used_count, writable,
};

#[test]
fn more_requests_than_a_queue_has_end_the_device() {
    let guest = guest();
    guest.with_memory(|memory| set_available(memory, QUEUE_SIZE + 1));
    let guest = in_time(move || {
        guest.kick().unwrap_err();
        guest
    });
    assert_eq!(guest.reasons.lock().unwrap().len(), 1);
}

#[test]
fn requests_that_lie_nowhere_end_the_device() {
    let guest = guest();
    // The index is the last word in memory, and the entries that it counts lie beyond the end.
    let end = MEMORY_BYTES as u64;
    let used = end - 0x4000;
    guest
        .ring
        .set_queue_info(DESCRIPTORS, end - 4, used)
        .unwrap();
    guest.with_memory(|memory| {
        memory.write_obj(1_u16, GuestAddress(end - 2)).unwrap();
    });
    let guest = in_time(move || {
        guest.kick().unwrap_err();
        guest
    });
    assert_eq!(guest.reasons.lock().unwrap().len(), 1);
}

#[test]
fn a_disk_that_panics_ends_the_device() {
    let mut guest = guest();
    guest.disk().panics = true;
    let reasons = Arc::clone(&guest.reasons);
    // A connection would keep the device while its thread ends.
    let _device = guest.device.clone();
    let read = std::thread::spawn(move || guest.read(0, 512)).join();
    assert!(read.is_err());
    assert_eq!(reasons.lock().unwrap().len(), 1);
}

#[test]
fn a_queue_that_is_stopped_is_left_alone_and_can_be_started_again() {
    let mut guest = guest();
    assert_eq!(guest.write(0, &[7; 512]), OK);
    guest.ring.set_queue_ready(false);
    let sent = guest.sent;
    guest.with_memory(|memory| set_available(memory, sent + 1));
    guest.kick().unwrap();
    assert_eq!(guest.with_memory(used_count), sent);
    // As a VMM starts it again: with the requests that it was told of before.
    guest.with_memory(|memory| set_available(memory, sent));
    guest.ring.set_queue_next_avail(sent);
    guest.ring.set_queue_ready(true);
    guest.ring.set_queue_ready(true);
    assert_eq!(guest.read(0, 512), (OK, vec![7; 512]));
    // As a driver begins anew, with empty rings.
    guest.ring.set_queue_ready(false);
    guest.with_memory(|memory| {
        set_available(memory, 0);
        let used = GuestAddress(USED + 2);
        memory.write_obj(0_u16, used).unwrap();
    });
    guest.ring.set_queue_next_avail(0);
    guest.ring.set_queue_next_used(0);
    guest.ring.set_queue_ready(true);
    guest.sent = 0;
    assert_eq!(guest.read(0, 512), (OK, vec![7; 512]));
    assert_eq!(guest.send(SERIAL, 0, &[writable(DATA, 20)]), OK);
}
