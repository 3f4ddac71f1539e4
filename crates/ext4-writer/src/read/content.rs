use std::io::{self, Read, Write};

use super::{Extent, FileData, Image, ReadAt, ReadError};

/// Size of the buffer for copying, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// Reader of one file's content; holes and unwritten extents read as zeros.
pub struct FileReader<'a, R> {
    image: &'a Image<R>,
    data: &'a FileData,
    position_bytes: u64,
}

/// A piece of a file that is all data or all zeros.
struct Piece {
    /// Offset in the image, in bytes; `None` in a hole or an unwritten extent.
    offset_bytes: Option<u64>,
    /// Bytes to the end of the extent, the hole or the file.
    length_bytes: u64,
}

impl<R: ReadAt> Image<R> {
    /// Returns a reader of one file's content, at its start.
    pub const fn file_reader<'a>(&'a self, data: &'a FileData) -> FileReader<'a, R> {
        FileReader {
            image: self,
            data,
            position_bytes: 0,
        }
    }

    /// Returns the runs of blocks of the source that are a file's content, beside its holes; `None` if a part of
    /// it lies in the inode, or in the journal of an image that was not unmounted.
    pub fn blocks_of<'a>(&self, data: &'a FileData) -> Option<&'a [Extent]> {
        let is_newer = |extent: &Extent| self.blocks.has_newer(extent.start_block, extent.blocks);
        let lies_elsewhere = data.inline.is_some() || data.extents.iter().any(is_newer);
        (!lies_elsewhere).then_some(data.extents.as_slice())
    }

    /// Copies one file's content to `out`, holes as zeros.
    ///
    /// # Errors
    /// An error of the source or the output.
    pub fn copy_file(&self, data: &FileData, out: &mut dyn Write) -> Result<(), ReadError> {
        let mut reader = self.file_reader(data);
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let count = reader.fill(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            out.write_all(&buffer[..count])
                .map_err(|source| ReadError::Output { source })?;
        }
    }
}

impl<R> FileReader<'_, R> {
    /// Continues at `position_bytes` from the start of the file; past the file's end, nothing is
    /// read.
    pub const fn seek_to(&mut self, position_bytes: u64) {
        self.position_bytes = position_bytes;
    }
}

impl<R: ReadAt> FileReader<'_, R> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let piece = self.piece();
        let available = usize::try_from(piece.length_bytes).unwrap_or(usize::MAX);
        let count = available.min(buffer.len());
        let buffer = &mut buffer[..count];
        match (&self.data.inline, piece.offset_bytes) {
            (Some(content), _) => {
                let start = usize::try_from(self.position_bytes).unwrap_or(usize::MAX);
                let rest = content.get(start..).unwrap_or_default();
                let shown = rest.len().min(count);
                buffer[..shown].copy_from_slice(&rest[..shown]);
                buffer[shown..].fill(0);
            }
            (None, None) => buffer.fill(0),
            (None, Some(offset_bytes)) => self.image.blocks.read(buffer, offset_bytes)?,
        }
        self.position_bytes += u64::try_from(count).unwrap_or(piece.length_bytes);
        Ok(count)
    }

    fn piece(&self) -> Piece {
        let position = self.position_bytes;
        let block_size = self.image.layout.block_size();
        let extents = &self.data.extents;
        let start = |extent: &Extent| extent.file_block.saturating_mul(block_size);
        let end = |extent: &Extent| {
            let end_block = extent.file_block.saturating_add(extent.blocks);
            end_block.saturating_mul(block_size)
        };
        let index = extents.partition_point(|extent| end(extent) <= position);
        let (offset_bytes, until) = match extents.get(index) {
            Some(extent) if start(extent) <= position => {
                let place = extent.start_block.saturating_mul(block_size);
                let place = place.saturating_add(position - start(extent));
                (extent.is_written.then_some(place), end(extent))
            }
            Some(extent) => (None, start(extent)),
            None => (None, u64::MAX),
        };
        Piece {
            offset_bytes,
            length_bytes: until.min(self.data.size_bytes).saturating_sub(position),
        }
    }
}

impl<R: ReadAt> Read for FileReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill(buffer).map_err(io::Error::other)
    }
}
