//! Requests of an ordinary guest.

use std::io;

use vhost_user_backend::VhostUserBackend as _;

use crate::guest::{DISCARD, FAILED, FLUSH, Guest, OK, READ, SERIAL, UNMAP, WRITE, WRITE_ZEROES};
use crate::memory_disk::MemoryDisk;
use crate::ring::{DATA, readable, writable};

const SIZE_BYTES: usize = 1 << 20;

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index / 3) as u8).collect()
}

#[test]
fn bytes_that_were_written_are_read() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    let bytes = pattern(9 * 512);
    assert_eq!(guest.write(5, &bytes), OK);
    assert_eq!(guest.disk().bytes[5 * 512..14 * 512], bytes);
    guest.put(&vec![0; bytes.len()]);
    assert_eq!(guest.read(5, bytes.len()), (OK, bytes));
}

#[test]
fn a_request_may_be_longer_than_the_buffer_between_disk_and_guest() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    let bytes = pattern(3 * vhost_block::TRANSFER_BYTES as usize + 512);
    assert_eq!(guest.write(1, &bytes), OK);
    guest.put(&vec![0; bytes.len()]);
    assert_eq!(guest.read(1, bytes.len()), (OK, bytes));
}

#[test]
fn buffers_follow_each_other_whatever_their_lengths() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    let bytes = pattern(1024);
    guest.put(&bytes);
    let parts = [
        readable(DATA, 1),
        readable(DATA + 1, 0),
        readable(DATA + 1, 600),
        readable(DATA + 601, 423),
    ];
    assert_eq!(guest.send(WRITE, 0, &parts), OK);
    assert_eq!(guest.disk().bytes[..1024], bytes);
    guest.put(&[0; 1024]);
    let parts = [
        writable(DATA, 0),
        writable(DATA, 511),
        writable(DATA + 511, 513),
    ];
    assert_eq!(guest.send_indirect(READ, 0, &parts), OK);
    assert_eq!(guest.data(1024), bytes);
}

#[test]
fn the_guest_finds_the_disk_by_its_serial() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    assert_eq!(guest.send(SERIAL, 0, &[writable(DATA, 20)]), OK);
    assert_eq!(guest.data(20), *b"a serial\0\0\0\0\0\0\0\0\0\0\0\0");
    guest.put(&[9; 20]);
    assert_eq!(guest.send(SERIAL, 0, &[writable(DATA, 3)]), OK);
    assert_eq!(guest.data(4), *b"a s\x09");
}

#[test]
fn a_flush_is_passed_on() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    assert_eq!(guest.send(FLUSH, 0, &[]), OK);
    assert_eq!(guest.disk().flushes, 1);
}

#[test]
fn zeros_free_their_space_only_if_they_may() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    assert_eq!(guest.write(0, &pattern(8192)), OK);
    assert_eq!(guest.send_range(WRITE_ZEROES, 1, 2, UNMAP), OK);
    assert_eq!(guest.disk().zeros, 1);
    assert_eq!(guest.send_range(WRITE_ZEROES, 4, 3, 0), OK);
    assert_eq!(guest.disk().zeros, 1, "the space of the range is freed");
    let mut expected = pattern(8192);
    expected[512..3 * 512].fill(0);
    expected[4 * 512..7 * 512].fill(0);
    assert_eq!(guest.disk().bytes[..8192], expected);
}

#[test]
fn a_discard_is_passed_on() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    assert_eq!(guest.send_range(DISCARD, 8, 16, 0), OK);
    assert_eq!(guest.disk().discards, [(4096, 8192)]);
}

#[test]
fn an_error_of_the_disk_is_the_status_of_its_request() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    guest.disk().failure = Some(io::ErrorKind::StorageFull);
    assert_eq!(guest.write(0, &[1; 512]), FAILED);
    assert_eq!(guest.read(0, 512).0, FAILED);
    assert_eq!(guest.send(FLUSH, 0, &[]), FAILED);
    assert_eq!(guest.send_range(WRITE_ZEROES, 0, 1, UNMAP), FAILED);
    assert_eq!(guest.send_range(DISCARD, 0, 1, 0), FAILED);
    guest.disk().failure = None;
    assert_eq!(guest.write(0, &[1; 512]), OK);
}

#[test]
fn the_answer_is_as_long_as_what_was_written() {
    let mut guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    assert_eq!(guest.read(0, 1024).0, OK);
    assert_eq!(guest.run().unwrap(), 1025);
    assert_eq!(guest.write(0, &[1; 512]), OK);
    assert_eq!(guest.run().unwrap(), 1);
}

#[test]
fn a_read_only_disk_is_offered_without_changes() {
    const READ_ONLY: u64 = 1 << 5;
    const CHANGES: u64 = 1 << 13 | 1 << 14;
    let guest = Guest::with_access(MemoryDisk::new(SIZE_BYTES), true);
    assert_eq!(guest.device.features() & (READ_ONLY | CHANGES), READ_ONLY);
    let guest = Guest::new(MemoryDisk::new(SIZE_BYTES));
    assert_eq!(guest.device.features() & (READ_ONLY | CHANGES), CHANGES);
}

#[test]
fn the_capacity_is_in_whole_sectors() {
    let guest = Guest::new(MemoryDisk::new(SIZE_BYTES + 100));
    let capacity = guest.device.get_config(0, 8);
    assert_eq!(capacity, (SIZE_BYTES as u64 / 512).to_le_bytes());
}
