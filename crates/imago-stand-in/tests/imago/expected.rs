//! A disk as an array of bytes, and the requests that a guest makes.

use std::ops::Range;

use proptest::prelude::*;

/// The size of a disk, in bytes: not a multiple of a page.
pub(crate) const SIZE_BYTES: usize = 40 * 4096 + 3 * SECTOR_BYTES;
/// The unit of a guest's requests, in bytes.
pub(crate) const SECTOR_BYTES: usize = 512;

/// A request of a guest.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    /// Buffers of these lengths are filled.
    Read(Vec<usize>, usize),
    /// Buffers of these lengths are written, each full of this byte and the next ones.
    Write(Vec<usize>, usize, u8),
    /// A range becomes zeros and keeps its space.
    WriteZeroes(Range<usize>),
    /// A range becomes zeros.
    DiscardToZero(Range<usize>),
    /// A range is not needed any more.
    Discard(Range<usize>),
    /// All becomes durable.
    Flush,
}

/// Returns the bytes of a write.
pub(crate) fn bytes(lengths: &[usize], first: u8) -> Vec<u8> {
    let next = |byte: &mut u8| {
        *byte = byte.wrapping_add(1);
        Some(*byte)
    };
    let buffer = |(length, byte)| vec![byte; length];
    let numbers = std::iter::successors(Some(first), |byte| next(&mut byte.clone()));
    let buffers = lengths.iter().copied().zip(numbers).map(buffer);
    buffers.collect::<Vec<_>>().concat()
}

/// Requests of whole sectors, whose buffers have any length. Some do not lie on the disk.
pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(request(), 1..40)
}

fn request() -> impl Strategy<Value = Request> {
    let sectors = SIZE_BYTES / SECTOR_BYTES;
    let start = (0..sectors + 2).prop_map(|sector| sector * SECTOR_BYTES);
    let lengths = prop::collection::vec(prop_oneof![Just(0_usize), 1..9000_usize], 0..9);
    let lengths = lengths.prop_map(|mut lengths| {
        let sum: usize = lengths.iter().sum();
        lengths.push(sum.next_multiple_of(SECTOR_BYTES) - sum);
        lengths
    });
    let range = (start.clone(), 0..60_usize);
    let range = range.prop_map(|(start, count)| start..start + count * SECTOR_BYTES);
    prop_oneof![
        3 => (lengths.clone(), start.clone()).prop_map(|(lengths, at)| Request::Read(lengths, at)),
        5 => (lengths, start, any::<u8>())
            .prop_map(|(lengths, at, byte)| Request::Write(lengths, at, byte)),
        1 => range.clone().prop_map(Request::WriteZeroes),
        1 => range.clone().prop_map(Request::DiscardToZero),
        1 => range.prop_map(Request::Discard),
        1 => Just(Request::Flush),
    ]
}
