//! Requests and queues of a hostile guest.

use std::sync::Arc;

use vhost_user_backend::VringT as _;
use vm_memory::{Bytes as _, GuestAddress};

use crate::guest::{
    DISCARD, FAILED, Guest, OK, READ, SERIAL, UNMAP, UNSUPPORTED, WRITE, WRITE_ZEROES,
};
use crate::in_time;
use crate::memory_disk::MemoryDisk;
use crate::ring::{
    Buffer, DATA, DESCRIPTORS, HEADER, INDIRECT, INDIRECT_FLAG, MEMORY_BYTES, NEXT, QUEUE_SIZE,
    STATUS, USED, WRITE as WRITABLE, readable, set_available, used_count, writable, write_chain,
    write_descriptor, write_header,
};

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

#[test]
fn a_request_without_a_status_byte_is_given_back() {
    let mut guest = guest();
    guest.with_memory(|memory| write_header(memory, WRITE, 0));
    guest.put(&[7; 512]);
    let chain = [readable(HEADER, 16), readable(DATA, 512)];
    assert_eq!(send_chain(&mut guest, &chain), 0);
    assert_eq!(send_chain(&mut guest, &[readable(HEADER, 16)]), 0);
    let empty = [readable(HEADER, 16), writable(STATUS, 0)];
    assert_eq!(send_chain(&mut guest, &empty), 0);
    assert_unchanged(&guest);
}

#[test]
fn a_short_header_is_refused() {
    let mut guest = guest();
    for length in [0, 1, 15] {
        let chain = [readable(HEADER, length), writable(STATUS, 1)];
        assert_eq!(send_chain(&mut guest, &chain), 1);
        let status =
            guest.with_memory(|memory| memory.read_obj::<u8>(GuestAddress(STATUS)).unwrap());
        assert_eq!(status, FAILED);
    }
    assert_eq!(send_chain(&mut guest, &[writable(STATUS, 1)]), 1);
    assert_unchanged(&guest);
}

#[test]
fn buffers_outside_of_the_memory_are_not_touched() {
    let end = MEMORY_BYTES as u64;
    for (address, length) in [
        (end, 512),
        (end - 1, 512),
        (u64::MAX - 100, 512),
        (0, u32::MAX),
        (DATA, u32::MAX),
    ] {
        let mut guest = guest();
        guest.with_memory(|memory| write_header(memory, WRITE, 0));
        let header = readable(HEADER, 16);
        let status = writable(STATUS, 1);
        let chain = [header, readable(address, length), status];
        assert_eq!(send_chain(&mut guest, &chain), 0);
        guest.with_memory(|memory| write_header(memory, READ, 0));
        let chain = [header, writable(address, length), status];
        assert_eq!(send_chain(&mut guest, &chain), 0);
        let chain = [readable(address, length), status];
        assert_eq!(send_chain(&mut guest, &chain), 0);
        assert_unchanged(&guest);
    }
}

#[test]
fn lengths_of_more_than_4_gib_end_the_list_of_buffers() {
    let mut guest = guest();
    guest.with_memory(|memory| write_header(memory, WRITE, 0));
    let long = readable(0, u32::MAX);
    let chain = [readable(HEADER, 16), long, long, writable(STATUS, 1)];
    assert_eq!(send_chain(&mut guest, &chain), 0);
    assert_unchanged(&guest);
}

#[test]
fn a_chain_that_leads_to_itself_ends() {
    in_time(|| {
        let mut guest = guest();
        guest.with_memory(|memory| {
            write_header(memory, WRITE, 0);
            write_descriptor(memory, (DESCRIPTORS, 0), (HEADER, 16), NEXT, 1);
            write_descriptor(memory, (DESCRIPTORS, 1), (DATA, 512), NEXT, 1);
        });
        assert_eq!(guest.run().unwrap(), 0);
        // The same with room for a status, before which no whole sectors lie.
        guest.with_memory(|memory| {
            write_header(memory, READ, SECTORS - 1);
            write_descriptor(memory, (DESCRIPTORS, 1), (DATA, 512), NEXT | WRITABLE, 1);
        });
        guest.run().unwrap();
        assert_unchanged(&guest);
    });
}

#[test]
fn a_chain_has_as_many_buffers_as_the_queue() {
    let mut guest = guest();
    let part = writable(DATA, 512);
    let data = vec![part; usize::from(QUEUE_SIZE) - 2];
    assert_eq!(guest.send(READ, 0, &data), OK);
    assert_eq!(guest.send_indirect(READ, 0, &data), OK);
}

#[test]
fn a_next_descriptor_outside_of_the_table_ends_the_chain() {
    let mut guest = guest();
    guest.with_memory(|memory| {
        write_header(memory, WRITE, 0);
        write_descriptor(memory, (DESCRIPTORS, 0), (HEADER, 16), NEXT, QUEUE_SIZE);
    });
    assert_eq!(guest.run().unwrap(), 0);
    guest.with_memory(|memory| {
        write_descriptor(memory, (DESCRIPTORS, 0), (HEADER, 16), NEXT, u16::MAX);
    });
    assert_eq!(guest.run().unwrap(), 0);
    assert_unchanged(&guest);
}

#[test]
fn invalid_indirect_tables_have_no_buffers() {
    let mut guest = guest();
    let end = MEMORY_BYTES as u64;
    for table in [
        (INDIRECT, 0),
        (INDIRECT, 15),
        (INDIRECT, u32::MAX & !15),
        (end, 32),
        (u64::MAX - 15, 32),
    ] {
        guest.with_memory(|memory| {
            write_descriptor(memory, (INDIRECT, 0), (HEADER, 16), INDIRECT_FLAG, 0);
            write_descriptor(memory, (DESCRIPTORS, 0), table, INDIRECT_FLAG, 0);
        });
        assert_eq!(guest.run().unwrap(), 0, "{table:?}");
    }
    // A table that refers to itself.
    guest.with_memory(|memory| {
        let table = (INDIRECT, 32);
        write_descriptor(memory, (INDIRECT, 0), table, INDIRECT_FLAG, 0);
        write_descriptor(memory, (DESCRIPTORS, 0), table, INDIRECT_FLAG, 0);
    });
    assert_eq!(guest.run().unwrap(), 0);
    assert_unchanged(&guest);
}

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
