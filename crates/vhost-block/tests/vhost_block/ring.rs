//! A queue in a guest's memory, into which anything can be written.

use vm_memory::{Bytes as _, GuestAddress, GuestMemoryMmap};

pub(crate) const MEMORY_BYTES: usize = 4 << 20;
/// The number of entries that a guest takes over virtio-mmio.
pub(crate) const QUEUE_SIZE: u16 = 1024;
pub(crate) const DESCRIPTORS: u64 = 0;
pub(crate) const AVAILABLE: u64 = 0x4000;
pub(crate) const USED: u64 = 0x5000;
/// A table of descriptors that an indirect descriptor refers to.
pub(crate) const INDIRECT: u64 = 0x8000;
pub(crate) const HEADER: u64 = 0x1_0000;
pub(crate) const STATUS: u64 = 0x1_1000;
pub(crate) const DATA: u64 = 0x10_0000;

/// `VIRTQ_DESC_F_NEXT`, `VIRTQ_DESC_F_WRITE` and `VIRTQ_DESC_F_INDIRECT` (uapi/linux/virtio_ring.h).
pub(crate) const NEXT: u16 = 1;
pub(crate) const WRITE: u16 = 2;
pub(crate) const INDIRECT_FLAG: u16 = 4;

/// A buffer of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) address: u64,
    pub(crate) length: u32,
    pub(crate) is_writable: bool,
}

/// Returns a buffer that the device reads.
pub(crate) const fn readable(address: u64, length: u32) -> Buffer {
    Buffer {
        address,
        length,
        is_writable: false,
    }
}

/// Returns a buffer that the device writes.
pub(crate) const fn writable(address: u64, length: u32) -> Buffer {
    Buffer {
        address,
        length,
        is_writable: true,
    }
}

/// Writes a `struct virtq_desc` (uapi/linux/virtio_ring.h) into a table.
pub(crate) fn write_descriptor(
    memory: &GuestMemoryMmap,
    (table, index): (u64, u16),
    (address, length): (u64, u32),
    flags: u16,
    next: u16,
) {
    let descriptor = [
        &address.to_le_bytes()[..],
        &length.to_le_bytes(),
        &flags.to_le_bytes(),
        &next.to_le_bytes(),
    ]
    .concat();
    let at = GuestAddress(table + 16 * u64::from(index));
    memory.write_slice(&descriptor, at).unwrap();
}

/// Writes the descriptors of a request, the first of which is the first of the table.
pub(crate) fn write_chain(memory: &GuestMemoryMmap, table: u64, chain: &[Buffer]) {
    for (index, buffer) in (0_u16..).zip(chain) {
        let is_last = usize::from(index) + 1 == chain.len();
        let next = if is_last { 0 } else { NEXT };
        let write = if buffer.is_writable { WRITE } else { 0 };
        let place = (buffer.address, buffer.length);
        write_descriptor(memory, (table, index), place, next | write, index + 1);
    }
}

/// Writes the header of a request.
pub(crate) fn write_header(memory: &GuestMemoryMmap, kind: u32, sector: u64) {
    let header = [
        &kind.to_le_bytes()[..],
        &0_u32.to_le_bytes(),
        &sector.to_le_bytes(),
    ]
    .concat();
    memory.write_slice(&header, GuestAddress(HEADER)).unwrap();
}

/// Makes the request available that begins at the first descriptor. `sent` requests were made available before.
pub(crate) fn offer(memory: &GuestMemoryMmap, sent: u16) {
    let entry = AVAILABLE + 4 + 2 * u64::from(sent % QUEUE_SIZE);
    memory.write_obj(0_u16, GuestAddress(entry)).unwrap();
    set_available(memory, sent.wrapping_add(1));
}

/// Sets the number of requests made available so far.
pub(crate) fn set_available(memory: &GuestMemoryMmap, count: u16) {
    let index = GuestAddress(AVAILABLE + 2);
    memory.write_obj(count.to_le(), index).unwrap();
}

/// Returns the number of requests that the device has used.
pub(crate) fn used_count(memory: &GuestMemoryMmap) -> u16 {
    memory.read_obj(GuestAddress(USED + 2)).unwrap()
}

/// Returns the length of the answer to the last request that the device has used.
pub(crate) fn used_length(memory: &GuestMemoryMmap) -> u32 {
    let last = used_count(memory).wrapping_sub(1) % QUEUE_SIZE;
    let entry = USED + 4 + 8 * u64::from(last);
    memory.read_obj(GuestAddress(entry + 4)).unwrap()
}
