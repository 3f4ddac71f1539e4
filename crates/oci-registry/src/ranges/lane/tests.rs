use std::collections::VecDeque;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;

use super::*;
use crate::limits::RegistryLimits;
use crate::ranges::quota::Quota;

fn quota(range_memory_bytes: u64) -> Quota {
    Quota::new(&RegistryLimits {
        range_memory_bytes,
        ..RegistryLimits::default()
    })
}

/// Returns the next piece, without waiting for it.
fn next(lane: &mut Lane) -> Poll<Option<Bytes>> {
    pin!(lane.next()).poll(&mut Context::from_waker(Waker::noop()))
}

/// The next event, for the lane of this number if there is one.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A further range is requested, if there is memory for it.
    Open,
    /// A part of a lane's range arrives.
    Arrive(usize, usize),
    /// A lane's range breaks off, and no more of it arrives.
    Fail(usize),
    /// The reader takes a piece, or asks for one that no lane has.
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Open),
        6 => (0..4_usize, 1..200_usize).prop_map(|(lane, bytes)| Step::Arrive(lane, bytes)),
        1 => (0..4_usize).prop_map(Step::Fail),
        6 => Just(Step::Read),
    ]
}

/// A blob that is read through lanes, as a download reads it, and a count of what they hold.
struct Reader {
    blob: Vec<u8>,
    range_bytes: usize,
    quota: Quota,
    lanes: VecDeque<(Option<LaneWriter>, Lane)>,
    requested: usize,
    read: Vec<u8>,
    held: usize,
}

impl Reader {
    fn take(&mut self, step: Step) {
        match step {
            Step::Open => self.open(),
            Step::Arrive(index, count) => {
                let Some((Some(writer), _)) = self.lanes.get_mut(index) else {
                    return;
                };
                let missing = writer.missing();
                let (start, end) = (length(missing.start), length(missing.end));
                // A server may send more than the range.
                let sent = (start + count).min(self.blob.len());
                writer.write(&self.blob[start..sent]);
                self.held += sent.min(end) - start;
            }
            Step::Fail(index) => {
                if let Some((writer, _)) = self.lanes.get_mut(index) {
                    *writer = None;
                }
            }
            Step::Read => self.read(),
        }
    }

    fn open(&mut self) {
        let start = self.requested;
        let end = (start + self.range_bytes).min(self.blob.len());
        if start == end {
            return;
        }
        if let Some(memory) = self.quota.memory((end - start) as u64) {
            let (writer, lane) = lane(start as u64..end as u64, memory);
            self.lanes.push_back((Some(writer), lane));
            self.requested = end;
        }
    }

    /// Takes a piece from the lane whose turn it is. Bytes that no lane will have are taken directly.
    fn read(&mut self) {
        let position = self.read.len();
        let Some((writer, lane)) = self.lanes.front_mut() else {
            let end = (position + 1).min(self.blob.len());
            self.read.extend_from_slice(&self.blob[position..end]);
            self.requested = self.requested.max(end);
            return;
        };
        let start = length(lane.range.start);
        if position < start {
            self.read.extend_from_slice(&self.blob[position..start]);
            return;
        }
        if writer
            .as_ref()
            .is_some_and(|writer| writer.missing().is_empty())
        {
            *writer = None;
        }
        match next(lane) {
            Poll::Ready(Some(piece)) => {
                self.held -= piece.len();
                self.read.extend_from_slice(&piece);
            }
            Poll::Ready(None) => {
                let end = length(lane.range.end);
                self.read.extend_from_slice(&self.blob[position..end]);
                self.lanes.pop_front();
            }
            Poll::Pending => {}
        }
    }
}

proptest! {
    #[test]
    fn whatever_the_order_of_arrival_the_bytes_are_in_order_and_the_memory_is_bounded(
        blob_bytes in 1..200_000_usize,
        range_bytes in 1..70_000_usize,
        ranges in 1..4_usize,
        large in 1..1000_usize,
        steps in prop::collection::vec(step(), 0..300),
    ) {
        let memory_bytes = range_bytes * ranges;
        let mut reader = Reader {
            blob: (0..blob_bytes).map(|index| (index * 31 / 7).to_le_bytes()[0]).collect(),
            range_bytes,
            quota: quota(memory_bytes as u64),
            lanes: VecDeque::new(),
            requested: 0,
            read: Vec::new(),
            held: 0,
        };
        for step in steps {
            reader.take(match step {
                Step::Arrive(lane, bytes) => Step::Arrive(lane, bytes * large),
                step => step,
            });
            let reserved = memory_bytes - reader.quota.free_bytes();
            prop_assert!(reader.held <= reserved && reserved <= memory_bytes);
            prop_assert!(reader.read == reader.blob[..reader.read.len()]);
        }
        while reader.read.len() < blob_bytes {
            reader.take(Step::Open);
            reader.take(Step::Arrive(0, range_bytes));
            reader.take(Step::Read);
        }
        prop_assert!(reader.read == reader.blob);
        drop(reader.lanes);
        prop_assert_eq!(reader.quota.free_bytes(), memory_bytes);
    }
}

#[test]
fn pieces_keep_no_more_memory_than_their_bytes() {
    let quota = quota(1 << 20);
    let memory = quota.memory(1 << 20).expect("memory");
    let (mut writer, mut lane) = lane(0..1 << 20, memory);
    // A small part of a large buffer, as a connection reads it.
    let buffer = Bytes::from(vec![7; 400 << 10]);
    for _ in 0..(1 << 20) / 100 {
        writer.write(&buffer.slice(..100));
    }
    drop((writer, buffer));
    let mut pieces = 0;
    while let Poll::Ready(Some(piece)) = next(&mut lane) {
        pieces += 1;
        assert!(piece.len() as u64 <= PIECE_BYTES);
    }
    assert_eq!(pieces, (1 << 20) / PIECE_BYTES);
}

#[tokio::test]
async fn a_writer_learns_that_it_is_abandoned() {
    let quota = quota(10);
    let (mut writer, lane) = lane(0..10, quota.memory(10).expect("memory"));
    let abandoned = writer.abandoned();
    drop(lane);
    abandoned.await;
    writer.write(&[0; 20]);
    assert!(writer.missing().is_empty());
    assert_eq!(quota.free_bytes(), 10);
}
