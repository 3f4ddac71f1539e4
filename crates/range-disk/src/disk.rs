use std::io::{self, IoSliceMut, Read as _};

use fstree::ReadAt;
use served_disk::Disk;

use crate::error::PushError;

/// The most bytes that are read at once for several buffers.
const PIECE_LENGTH: usize = 128 << 10;

/// A read-only disk of consecutive ranges, each of a source or of zeros.
#[derive(Debug)]
pub struct RangeDisk<S> {
    /// In the order of the disk, without gaps and without empty ranges.
    ranges: Vec<Range<S>>,
    /// The bytes that are read for several buffers.
    piece: Vec<u8>,
}

/// A range of the disk.
#[derive(Debug)]
struct Range<S> {
    /// The first byte on the disk, and the one after the last.
    start_bytes: u64,
    end_bytes: u64,
    content: Content<S>,
}

/// The content of a range.
#[derive(Debug)]
enum Content<S> {
    Zeros,
    /// The bytes of a source from an offset on.
    Source {
        source: S,
        offset_bytes: u64,
    },
}

impl<S> RangeDisk<S> {
    /// Returns a disk without bytes.
    pub const fn new() -> Self {
        Self {
            ranges: Vec::new(),
            piece: Vec::new(),
        }
    }

    /// Adds zeros to the end of the disk.
    ///
    /// # Errors
    /// If the disk would be longer than 2^64 bytes.
    pub fn push_zeros(&mut self, length_bytes: u64) -> Result<(), PushError> {
        self.push_content(Content::Zeros, length_bytes)
    }

    fn push_content(&mut self, content: Content<S>, length_bytes: u64) -> Result<(), PushError> {
        let size_bytes = self.end_bytes();
        let end_bytes = size_bytes.checked_add(length_bytes);
        let end_bytes = end_bytes.ok_or(PushError::TooLong {
            size_bytes,
            length_bytes,
        })?;
        if length_bytes > 0 {
            self.ranges.push(Range {
                start_bytes: size_bytes,
                end_bytes,
                content,
            });
        }
        Ok(())
    }

    fn end_bytes(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end_bytes)
    }
}

impl<S> Default for RangeDisk<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: ReadAt> RangeDisk<S> {
    /// Adds `length_bytes` of a source, from `offset_bytes` on, to the end of the disk.
    ///
    /// # Errors
    /// If the source is shorter, or the disk would be longer than 2^64 bytes.
    pub fn push(
        &mut self,
        source: S,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<(), PushError> {
        let source_bytes = source.size_bytes().map_err(PushError::Io)?;
        let end_bytes = offset_bytes.checked_add(length_bytes);
        if end_bytes.is_none_or(|end| end > source_bytes) {
            return Err(PushError::Short {
                offset_bytes,
                length_bytes,
                source_bytes,
            });
        }
        let content = Content::Source {
            source,
            offset_bytes,
        };
        self.push_content(content, length_bytes)
    }

    /// Fills `buf` with the bytes of the disk from `at` on.
    fn read_ranges(&self, buf: &mut [u8], mut at: u64) -> io::Result<()> {
        let first = self.ranges.partition_point(|range| range.end_bytes <= at);
        let mut ranges = self.ranges.iter().skip(first);
        let mut rest = buf;
        while !rest.is_empty() {
            let range = ranges.next().ok_or(io::ErrorKind::UnexpectedEof)?;
            let left_bytes = range.end_bytes - at;
            let length =
                usize::try_from(left_bytes).map_or(rest.len(), |left| left.min(rest.len()));
            let (part, after) = rest.split_at_mut(length);
            range.read(part, at)?;
            at = range.end_bytes;
            rest = after;
        }
        Ok(())
    }

    /// Fills buffers, one after the other, with the bytes of the disk from `at` on. A source that verifies what it
    /// reads needs less time for a long range than for its parts, so the bytes are read into `piece` first.
    fn read_pieces(
        &self,
        piece: &mut Vec<u8>,
        mut buffers: &mut [IoSliceMut<'_>],
        mut at: u64,
    ) -> io::Result<()> {
        let mut left: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        while left > 0 {
            let length = left.min(PIECE_LENGTH);
            piece.resize(length, 0);
            self.read_ranges(piece, at)?;
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                // Buffers without bytes are skipped: the others have room for the rest.
                IoSliceMut::advance_slices(&mut buffers, 0);
                let first = buffers.first_mut().ok_or(io::ErrorKind::WriteZero)?;
                let count = rest.read(first)?;
                IoSliceMut::advance_slices(&mut buffers, count);
            }
            at += u64::try_from(length).map_err(io::Error::other)?;
            left -= length;
        }
        Ok(())
    }
}

impl<S: ReadAt> Range<S> {
    /// Fills `buf` with the bytes from `at` on, an offset on the disk within the range.
    fn read(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        match &self.content {
            Content::Zeros => {
                buf.fill(0);
                Ok(())
            }
            Content::Source {
                source,
                offset_bytes,
            } => source.read_exact_at(buf, offset_bytes + (at - self.start_bytes)),
        }
    }
}

impl<S: ReadAt> Disk for RangeDisk<S> {
    fn size_bytes(&self) -> u64 {
        self.end_bytes()
    }

    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.read_ranges(buf, offset_bytes)
    }

    fn read_vectored(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> io::Result<()> {
        if let [buffer] = buffers {
            return self.read_ranges(buffer, offset_bytes);
        }
        let mut piece = std::mem::take(&mut self.piece);
        let read = self.read_pieces(&mut piece, buffers, offset_bytes);
        self.piece = piece;
        read
    }

    fn write(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn zero(&mut self, _: u64, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn discard(&mut self, _: u64, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
