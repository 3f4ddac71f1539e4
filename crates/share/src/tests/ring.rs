use std::io;
use std::sync::mpsc;
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::{Opcode, ROOT_ID};
use vhost_user_backend::VringT as _;

use super::guest::{Guest, MEMORY_BYTES, QUEUE_SIZE};

/// Returns the device's answer to a notification. Fails if the device is busy for more than 60 s.
fn kicked(guest: Guest) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(guest.kick()));
    let limit = Duration::from_secs(60);
    receiver.recv_timeout(limit).expect("an answer in time")
}

fn guest() -> (tempfile::TempDir, Guest) {
    let directory = tempfile::tempdir().unwrap();
    let mut guest = Guest::initialised(directory.path(), false);
    guest.call(Opcode::Getattr, ROOT_ID, &[0; 16]).unwrap();
    (directory, guest)
}

#[test]
fn more_requests_than_a_ring_has_end_the_device() {
    let (_directory, guest) = guest();
    guest.offer(2 + QUEUE_SIZE + 1);
    kicked(guest).unwrap_err();
}

#[test]
fn requests_that_lie_nowhere_end_the_device() {
    let (_directory, guest) = guest();
    // The index is the last word in memory, and the entries that it counts lie beyond the end.
    let end = MEMORY_BYTES as u64;
    let used = end - 0x1000;
    guest.ring.set_queue_info(0x1000, end - 4, used).unwrap();
    guest.offer_at(end - 2, 3);
    kicked(guest).unwrap_err();
}

#[test]
fn a_ring_that_the_vmm_stopped_is_left_alone() {
    let (_directory, guest) = guest();
    guest.offer(3);
    guest.ring.set_queue_ready(false);
    kicked(guest).unwrap();
}
