use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that a cache keeps, if a piece is not longer.
const KEPT_BYTES: u64 = 4 << 20;
/// Pieces that a cache keeps at least: a read across two of them does not read the first one again.
const KEPT_PIECES: u64 = 2;

/// The pieces of a file that were read last, by a number: tables, or clusters that were decompressed.
#[derive(Debug)]
pub(crate) struct Cache {
    pieces: Mutex<VecDeque<(u64, Arc<[u8]>)>>,
    pieces_max: usize,
}

impl Cache {
    /// Makes a cache of pieces of one length.
    pub(crate) fn new(piece_bytes: u64) -> Self {
        let count = (KEPT_BYTES / piece_bytes.max(1)).clamp(KEPT_PIECES, 1024);
        Self {
            pieces: Mutex::default(),
            pieces_max: usize::try_from(count).unwrap_or(usize::MAX),
        }
    }

    /// Returns a piece, which `read` makes if it is not kept.
    pub(crate) fn get(
        &self,
        number: u64,
        read: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<Arc<[u8]>> {
        // Not held while a file is read: readers of other pieces go on.
        if let Some(piece) = self.find(number) {
            return Ok(piece);
        }
        let piece: Arc<[u8]> = read()?.into();
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if pieces.len() >= self.pieces_max {
            pieces.pop_back();
        }
        pieces.push_front((number, Arc::clone(&piece)));
        Ok(piece)
    }

    fn find(&self, number: u64) -> Option<Arc<[u8]>> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let index = pieces.iter().position(|(kept, _)| *kept == number)?;
        let found = pieces.remove(index)?;
        let piece = Arc::clone(&found.1);
        pieces.push_front(found);
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_read_again_only_after_others_took_its_place() {
        let cache = Cache::new(KEPT_BYTES);
        let reads = std::cell::Cell::new(0);
        let get = |number: u8| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(vec![number])
            };
            cache.get(number.into(), read).expect("read")[0]
        };
        for number in [1, 2, 1, 2, 1] {
            assert_eq!(get(number), number);
        }
        assert_eq!(reads.get(), 2);
        get(3);
        get(1);
        assert_eq!(reads.get(), 3, "the one that was used last was kept");
        get(2);
        assert_eq!(reads.get(), 4);
    }
}
