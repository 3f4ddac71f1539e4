//! Lists of buffers that break the rules of a queue.

use vm_memory::{Bytes as _, GuestAddress};

use super::{SECTORS, assert_unchanged, guest, send_chain};
use crate::guest::{FAILED, OK, READ, WRITE};
use crate::in_time;
use crate::ring::{
    DATA, DESCRIPTORS, HEADER, INDIRECT, INDIRECT_FLAG, MEMORY_BYTES, NEXT, QUEUE_SIZE, STATUS,
    WRITE as WRITABLE, readable, writable, write_descriptor, write_header,
};

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
        (INDIRECT, !15),
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
