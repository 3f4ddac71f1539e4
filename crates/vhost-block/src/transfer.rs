//! The bytes between a disk and the guest's memory.
//!
//! They go through a buffer of this process that the processor's caches hold. Straight from a file into the guest's
//! pages would need slices of memory that the guest changes meanwhile, which safe Rust does not have.

use served_disk::Disk;

use crate::buffers::RequestBuffers;
use crate::range::DiskRange;
use crate::status::Refusal;

/// The size of the buffer, in bytes. Longer requests are carried out in parts, between which nothing else uses the
/// disk.
pub const TRANSFER_BYTES: u64 = 128 << 10;

/// The buffer between a disk and a guest.
pub(crate) struct Transfer(Box<[u8]>);

impl Transfer {
    pub(crate) fn new() -> Self {
        let size = usize::try_from(TRANSFER_BYTES).expect("memory is larger than 128 KiB");
        Self(vec![0; size].into_boxed_slice())
    }

    /// Reads a range of a disk into the guest's memory.
    pub(crate) fn read(
        &mut self,
        disk: &mut impl Disk,
        range: DiskRange,
        buffers: &mut RequestBuffers<'_>,
    ) -> Result<(), Refusal> {
        self.in_parts(range, |part, offset_bytes| {
            disk.read(part, offset_bytes)?;
            Ok(buffers.give(part)?)
        })
    }

    /// Writes a range of a disk from the guest's memory.
    pub(crate) fn write(
        &mut self,
        disk: &mut impl Disk,
        range: DiskRange,
        buffers: &mut RequestBuffers<'_>,
    ) -> Result<(), Refusal> {
        self.in_parts(range, |part, offset_bytes| {
            buffers.take(part)?;
            Ok(disk.write(part, offset_bytes)?)
        })
    }

    /// Writes zeros to a range of a disk, which keeps its space.
    pub(crate) fn write_zeros(
        &mut self,
        disk: &mut impl Disk,
        range: DiskRange,
    ) -> Result<(), Refusal> {
        self.0.fill(0);
        self.in_parts(range, |zeros, offset_bytes| {
            Ok(disk.write(zeros, offset_bytes)?)
        })
    }

    /// Calls `carry_out` for each part of a range, with as much of the buffer and the part's offset on the disk. Parts
    /// meet at multiples of the buffer's size, so that none cuts a block of a disk whose request does not.
    fn in_parts(
        &mut self,
        range: DiskRange,
        mut carry_out: impl FnMut(&mut [u8], u64) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut offset_bytes = range.offset_bytes;
        let end_bytes = offset_bytes + range.length_bytes;
        while offset_bytes < end_bytes {
            let room_bytes = TRANSFER_BYTES - offset_bytes % TRANSFER_BYTES;
            let length_bytes = room_bytes.min(end_bytes - offset_bytes);
            let length = usize::try_from(length_bytes).expect("memory is larger than 128 KiB");
            let part = self.0.get_mut(..length).expect("a part fits in the buffer");
            carry_out(part, offset_bytes)?;
            offset_bytes += length_bytes;
        }
        Ok(())
    }
}
