//! Requests and queues of a hostile guest.

mod chains;
mod queues;
mod random;

use crate::guest::{DISCARD, FAILED, Guest, OK, UNMAP, UNSUPPORTED, WRITE_ZEROES};
use crate::memory_disk::MemoryDisk;
use crate::ring::{Buffer, DATA, DESCRIPTORS, readable, write_chain};

const SIZE_BYTES: usize = 1 << 20;
const SECTORS: u64 = SIZE_BYTES as u64 / 512;

fn guest() -> Guest<MemoryDisk> {
    Guest::new(MemoryDisk::new(SIZE_BYTES))
}

/// Sends the buffers as a request of their own. Returns the length of the answer.
fn send_chain(guest: &mut Guest<MemoryDisk>, chain: &[Buffer]) -> u32 {
    guest.with_memory(|memory| write_chain(memory, DESCRIPTORS, chain));
    guest.run().unwrap()
}

fn assert_unchanged(guest: &Guest<MemoryDisk>) {
    assert!(guest.disk().bytes.iter().all(|byte| *byte == 0));
    assert_eq!(guest.disk().zeros, 0);
    assert!(guest.disk().discards.is_empty());
    assert!(guest.reasons.lock().unwrap().is_empty());
}

#[test]
fn sectors_beyond_the_end_are_refused() {
    let mut guest = guest();
    for (sector, length) in [
        (SECTORS, 512),
        (SECTORS - 1, 1024),
        (SECTORS + 1, 0),
        (u64::MAX, 512),
        (u64::MAX / 512, 512),
    ] {
        assert_eq!(guest.read(sector, length).0, FAILED, "{sector}");
        assert_eq!(guest.write(sector, &vec![7; length]), FAILED, "{sector}");
    }
    assert_unchanged(&guest);
    assert_eq!(guest.read(SECTORS - 1, 512).0, OK);
    assert_eq!(guest.read(SECTORS, 0).0, OK);
}

#[test]
fn data_of_parts_of_sectors_is_refused() {
    let mut guest = guest();
    for length in [1, 511, 513] {
        assert_eq!(guest.read(0, length).0, FAILED, "{length}");
        assert_eq!(guest.write(0, &vec![7; length]), FAILED, "{length}");
    }
    assert_unchanged(&guest);
}

#[test]
fn a_read_only_disk_is_not_changed() {
    let mut guest = Guest::with_access(MemoryDisk::new(SIZE_BYTES), true);
    assert_eq!(guest.write(0, &[7; 512]), FAILED);
    assert_eq!(guest.send_range(WRITE_ZEROES, 0, 1, UNMAP), FAILED);
    assert_eq!(guest.send_range(DISCARD, 0, 1, 0), FAILED);
    assert_unchanged(&guest);
    assert_eq!(guest.read(0, 512).0, OK);
}

#[test]
fn ranges_that_are_none_are_refused() {
    let mut guest = guest();
    for (kind, max_sectors) in [(DISCARD, 1 << 21), (WRITE_ZEROES, 1 << 16)] {
        assert_eq!(guest.send_range(kind, 0, max_sectors + 1, 0), FAILED);
        assert_eq!(guest.send_range(kind, SECTORS, 1, 0), FAILED);
        assert_eq!(guest.send_range(kind, u64::MAX, 8, 0), FAILED);
        assert_eq!(guest.send_range(kind, 0, 8, 2), UNSUPPORTED);
        for length in [0, 15, 17, 32] {
            let status = guest.send(kind, 0, &[readable(DATA, length)]);
            assert_eq!(status, FAILED, "{length}");
        }
    }
    assert_eq!(guest.send_range(DISCARD, 0, 8, UNMAP), UNSUPPORTED);
    assert_unchanged(&guest);
}

#[test]
fn unknown_kinds_are_unsupported() {
    let mut guest = guest();
    for kind in [2, 3, 5, 7, 9, 14, 15, 16, u32::MAX] {
        assert_eq!(guest.send(kind, 0, &[readable(DATA, 512)]), UNSUPPORTED);
    }
    assert_unchanged(&guest);
}
