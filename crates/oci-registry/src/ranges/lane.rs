use std::ops::Range;

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::quota::Memory;

/// Length of the pieces in a lane, in bytes. Parts of responses are copied into them: a part may be a
/// small piece of a large buffer, which it would keep.
const PIECE_BYTES: u64 = 64 << 10;

/// A range of a blob that arrives before its turn. The queue has no limit, because its bytes are
/// those of the range, for which memory is reserved.
#[derive(Debug)]
pub(crate) struct Lane {
    /// The range; not all of it arrives if its fetch fails.
    pub(crate) range: Range<u64>,
    pieces: UnboundedReceiver<Bytes>,
    memory: Memory,
}

/// The writing end of a lane. Dropping it ends the lane.
#[derive(Debug)]
pub(crate) struct LaneWriter {
    /// The part of the range that has not arrived yet.
    missing: Range<u64>,
    piece: Vec<u8>,
    pieces: UnboundedSender<Bytes>,
}

/// Creates a lane for a range, in memory of the range's length.
pub(crate) fn lane(range: Range<u64>, memory: Memory) -> (LaneWriter, Lane) {
    let (sender, receiver) = unbounded_channel();
    let writer = LaneWriter {
        missing: range.clone(),
        piece: Vec::new(),
        pieces: sender,
    };
    let lane = Lane {
        range,
        pieces: receiver,
        memory,
    };
    (writer, lane)
}

impl Lane {
    /// Returns the next bytes of the range; `None` after the last ones that arrive.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        let piece = self.pieces.recv().await?;
        self.memory.give_back(piece.len());
        Some(piece)
    }
}

impl LaneWriter {
    /// Returns the part of the range that has not arrived yet.
    pub(crate) fn missing(&self) -> Range<u64> {
        self.missing.clone()
    }

    /// Appends bytes of the range; those behind its end are ignored.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.missing.is_empty() {
            let missing_bytes = self.missing.end - self.missing.start;
            if self.piece.capacity() == 0 {
                self.piece
                    .reserve_exact(length(missing_bytes.min(PIECE_BYTES)));
            }
            let room_bytes = self.piece.capacity() - self.piece.len();
            let count = bytes.len().min(room_bytes).min(length(missing_bytes));
            let (now, later) = bytes.split_at(count);
            self.piece.extend_from_slice(now);
            self.missing.start += u64::try_from(count).unwrap_or(missing_bytes);
            bytes = later;
            if count == room_bytes || self.missing.is_empty() {
                self.flush();
            }
        }
    }

    /// Sends the bytes that have arrived.
    fn flush(&mut self) {
        let piece = std::mem::take(&mut self.piece);
        if !piece.is_empty() {
            // A reader that has gone needs nothing more.
            let _ = self.pieces.send(piece.into());
        }
    }

    /// Returns a future that is ready when the reading end no longer exists.
    pub(crate) fn abandoned(&self) -> impl Future<Output = ()> + use<> {
        let pieces = self.pieces.clone();
        async move { pieces.closed().await }
    }
}

impl Drop for LaneWriter {
    /// Sends the bytes that have arrived.
    fn drop(&mut self) {
        self.flush();
    }
}

fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
