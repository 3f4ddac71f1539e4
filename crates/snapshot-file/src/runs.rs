use std::io;

use fstree::{ReadAt, Segment};

use crate::{BLOCK_BYTES, PIECE_BYTES};

/// The largest number of runs: one less than the writer of the tar accepts, because it takes the last one
/// of more for the rest of the file.
pub(crate) const RUNS_MAX: usize = (1 << 14) - 1;

/// The parts of a disk that an archive carries: runs of blocks of 4 KiB that are not all zeros.
///
/// There are at most 16,383 of them. On a disk with more, runs that are near each other are one, with the
/// zeros between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskRuns {
    runs: Vec<Segment>,
    /// The largest number of zeros between two runs that are one.
    gap_bytes: u64,
}

impl DiskRuns {
    /// Finds the runs of a disk. `known` are the ranges (offset and length in bytes, ascending) beyond which
    /// it is known to be zero.
    ///
    /// # Errors
    /// The disk cannot be read, or `known` fails.
    pub fn find<E: Into<io::Error>>(
        disk: &(impl ReadAt + ?Sized),
        known: impl IntoIterator<Item = Result<(u64, u64), E>>,
    ) -> io::Result<Self> {
        let size_bytes = disk.size_bytes()?;
        let mut runs = Self::default();
        let mut buffer = vec![0; PIECE_BYTES];
        for range in known {
            let (offset_bytes, length_bytes) = range.map_err(Into::into)?;
            let end_bytes = offset_bytes.saturating_add(length_bytes).min(size_bytes);
            let mut at_bytes = offset_bytes;
            while at_bytes < end_bytes {
                let left = usize::try_from(end_bytes - at_bytes).unwrap_or(PIECE_BYTES);
                let piece = &mut buffer[..left.min(PIECE_BYTES)];
                disk.read_exact_at(piece, at_bytes)?;
                at_bytes = runs.look(piece, at_bytes);
            }
        }
        Ok(runs)
    }

    /// Returns the number of bytes that the runs have together.
    pub fn data_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.length_bytes).sum()
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.runs
    }

    /// Adds the blocks of a piece that are not zero. Returns the end of the piece.
    fn look(&mut self, piece: &[u8], offset_bytes: u64) -> u64 {
        let mut at_bytes = offset_bytes;
        for block in piece.chunks(usize::try_from(BLOCK_BYTES).expect("4,096 fits")) {
            let length_bytes = u64::try_from(block.len()).expect("a block is short");
            if block.iter().any(|&byte| byte != 0) {
                self.add(at_bytes, length_bytes);
            }
            at_bytes += length_bytes;
        }
        at_bytes
    }

    fn add(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.push(offset_bytes, length_bytes);
        while self.runs.len() > RUNS_MAX {
            self.gap_bytes = (self.gap_bytes * 2).max(BLOCK_BYTES);
            for run in std::mem::take(&mut self.runs) {
                self.push(run.offset_bytes, run.length_bytes);
            }
        }
    }

    /// Adds a run, to the last one if the gap between them is small.
    fn push(&mut self, offset_bytes: u64, length_bytes: u64) {
        if let Some(last) = self.runs.last_mut()
            && offset_bytes - (last.offset_bytes + last.length_bytes) <= self.gap_bytes
        {
            last.length_bytes = offset_bytes + length_bytes - last.offset_bytes;
            return;
        }
        self.runs.push(Segment {
            offset_bytes,
            length_bytes,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(ranges: &[(u64, u64)]) -> Vec<io::Result<(u64, u64)>> {
        ranges.iter().copied().map(Ok).collect()
    }

    fn pairs(runs: &DiskRuns) -> Vec<(u64, u64)> {
        let runs = runs.segments().iter();
        runs.map(|run| (run.offset_bytes, run.length_bytes))
            .collect()
    }

    #[test]
    fn blocks_that_are_all_zeros_are_not_carried() {
        let mut disk = vec![0; 10 * 4096];
        disk[4096] = 1;
        disk[3 * 4096 - 1] = 1;
        disk[9 * 4096] = 1;
        let found = DiskRuns::find(&disk, known(&[(0, 10 * 4096)])).expect("read");
        assert_eq!(pairs(&found), [(4096, 8192), (9 * 4096, 4096)]);
        let found = DiskRuns::find(&disk, known(&[(0, 8192), (8192, 4096)])).expect("read");
        assert_eq!(pairs(&found), [(4096, 8192)]);
    }

    #[test]
    fn runs_that_are_too_many_are_joined_over_their_smallest_gaps() {
        let mut runs = DiskRuns::default();
        let count = u64::try_from(RUNS_MAX).expect("fits") * 3;
        for number in 0..count {
            runs.add(number * 2 * BLOCK_BYTES, BLOCK_BYTES);
        }
        let far = 1 << 40;
        runs.add(far, BLOCK_BYTES);
        assert!(runs.segments().len() <= RUNS_MAX);
        let last = runs.segments().last().expect("a run");
        assert_eq!((last.offset_bytes, last.length_bytes), (far, BLOCK_BYTES));
        let covered: u64 = runs.data_bytes();
        assert!(covered >= (count + 1) * BLOCK_BYTES && covered <= count * 2 * BLOCK_BYTES);
    }
}
