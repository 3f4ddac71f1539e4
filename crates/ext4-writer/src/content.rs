use std::io;
use std::ops::Range;

use fstree::ReadAt;

use crate::format::BLOCK_SIZE;
use crate::length::Length as _;

/// The content of a regular file that is to be written. It is opened when its turn comes, and closed
/// before the next one's.
pub trait FileContent {
    /// Its length, in bytes.
    fn size_bytes(&self) -> u64;

    /// Opens it.
    ///
    /// # Errors
    /// When it cannot be read any more.
    fn open(&self) -> io::Result<OpenedContent<'_>>;
}

/// A file's content while it is written.
pub struct OpenedContent<'a> {
    /// The bytes, holes too.
    pub bytes: Box<dyn ReadAt + 'a>,
    /// Where they are more than zeros, in bytes, in ascending order. What lies between, in whole
    /// blocks, becomes a hole.
    pub data: Vec<Range<u64>>,
}

impl FileContent for Vec<u8> {
    fn size_bytes(&self) -> u64 {
        self.length_bytes()
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        Ok(OpenedContent {
            bytes: Box::new(self.as_slice()),
            data: std::iter::once(0..self.length_bytes()).collect(),
        })
    }
}

/// The blocks of a file of this size that hold any of these bytes, in as few ranges as there can be.
pub(crate) fn blocks_with(data: &[Range<u64>], size_bytes: u64) -> Vec<Range<u64>> {
    let mut blocks: Vec<Range<u64>> = Vec::new();
    for range in data {
        let end = range.end.min(size_bytes);
        let mut of_range = range.start / BLOCK_SIZE..end.div_ceil(BLOCK_SIZE);
        match blocks.last_mut() {
            Some(last) if of_range.start <= last.end => last.end = last.end.max(of_range.end),
            _ => {
                of_range.end = of_range.end.max(of_range.start);
                blocks.push(of_range);
            }
        }
    }
    blocks.retain(|range| !range.is_empty());
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of bytes of a file of some size, and the ranges of its blocks.
    type Case = (&'static [(u64, u64)], u64, &'static [(u64, u64)]);

    #[test]
    fn data_takes_whole_blocks() {
        let cases: [Case; 5] = [
            (&[], 10, &[]),
            (&[(0, 1)], 1, &[(0, 1)]),
            (&[(0, 100), (200, 300), (5000, 5001)], 9000, &[(0, 2)]),
            (&[(4096, 8192), (12_288, 20_000)], 16_384, &[(1, 2), (3, 4)]),
            (&[(100_000, 200_000)], 50_000, &[]),
        ];
        for (data, size_bytes, expected) in cases {
            let data: Vec<_> = data.iter().map(|&(start, end)| start..end).collect();
            let blocks = blocks_with(&data, size_bytes);
            let blocks: Vec<_> = blocks
                .iter()
                .map(|range| (range.start, range.end))
                .collect();
            assert_eq!(blocks, expected, "{data:?}");
        }
    }
}
