use std::io;
use std::ops::Range;

use fstree::{Extent, ReadAt};

use crate::format::BLOCK_SIZE;
use crate::length::Length as _;

/// Content of a regular file to write. It is opened just before it is written, and closed before
/// the next file's content is opened.
pub trait FileContent {
    /// Returns the file's size, in bytes.
    fn size_bytes(&self) -> u64;

    /// Opens the content for reading.
    ///
    /// # Errors
    /// If the content can no longer be read.
    fn open(&self) -> io::Result<OpenedContent<'_>>;

    /// Returns the runs of blocks, on devices outside of the image, that hold the content already; `None`
    /// if the content is to be written. Such content is never opened: [`Layout::outside`] says which blocks
    /// of the image stand for it.
    ///
    /// [`Layout::outside`]: crate::Layout::outside
    fn outside(&self) -> Option<&[Extent]> {
        None
    }
}

/// Opened content of a file.
pub struct OpenedContent<'a> {
    /// All bytes of the file, holes included.
    pub bytes: Box<dyn ReadAt + 'a>,
    /// Ranges that may hold other bytes than zeros, in bytes and in ascending order. Whole blocks
    /// outside of these ranges become holes.
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

impl<T: FileContent + ?Sized> FileContent for Box<T> {
    fn size_bytes(&self) -> u64 {
        (**self).size_bytes()
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        (**self).open()
    }

    fn outside(&self) -> Option<&[Extent]> {
        (**self).outside()
    }
}

/// Returns the blocks of a file of `size_bytes` that hold bytes of `data`, in as few ranges as
/// possible.
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

    /// Ranges of data, the file's size and the expected ranges of blocks; the first two in bytes.
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
