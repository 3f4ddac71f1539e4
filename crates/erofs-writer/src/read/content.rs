use std::io::{self, Read, Write};

use super::{Image, ReadAt, ReadError};
use crate::{Extent, FileData};

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// A reader of one file's content, with holes as zeros.
pub struct FileReader<'a, R> {
    image: &'a Image<R>,
    data: &'a FileData,
    devices: &'a [&'a dyn ReadAt],
    position_bytes: u64,
}

/// The bytes of a file that start at the reader's position and come from one source.
struct Piece {
    source: Source,
    /// Bytes to the end of the extent, the hole or the file.
    length_bytes: u64,
}

/// The source of a file's bytes.
enum Source {
    Hole,
    /// An extent, and the offset into it in bytes.
    Extent(Extent, u64),
    /// An offset in bytes from the image's start.
    Inline(u64),
}

impl<R: ReadAt> Image<R> {
    /// Returns a reader of one file's content, at its start.
    ///
    /// `devices` are the image's devices in order. If it is empty, the image's own source holds
    /// them, one after the other as the device table maps them.
    pub const fn file_reader<'a>(
        &'a self,
        data: &'a FileData,
        devices: &'a [&'a dyn ReadAt],
    ) -> FileReader<'a, R> {
        FileReader {
            image: self,
            data,
            devices,
            position_bytes: 0,
        }
    }

    /// Copies one file's content to `out`, holes as zeros. `devices` are as in
    /// [`Image::file_reader`].
    pub fn copy_file(
        &self,
        data: &FileData,
        devices: &[&dyn ReadAt],
        out: &mut dyn Write,
    ) -> Result<(), ReadError> {
        let mut reader = self.file_reader(data, devices);
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
    /// Continues at a position in the file, in bytes. Past the file's end there is nothing to read.
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
        match piece.source {
            Source::Hole => buffer.fill(0),
            Source::Extent(extent, skip_bytes) => self.read_extent(&extent, skip_bytes, buffer)?,
            Source::Inline(offset_bytes) => self.read_device(0, offset_bytes, buffer)?,
        }
        self.position_bytes += piece
            .length_bytes
            .min(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }

    fn piece(&self) -> Piece {
        let position = self.position_bytes;
        if let Some(piece) = self.inline_piece() {
            return piece;
        }
        let extents = &self.data.extents;
        let block_bytes = self.image.block_size_bytes();
        let start = |extent: &Extent| extent.file_block.saturating_mul(block_bytes);
        let end = |extent: &Extent| {
            let end_block = extent.file_block.saturating_add(extent.blocks);
            end_block.saturating_mul(block_bytes)
        };
        let index = extents.partition_point(|extent| end(extent) <= position);
        let (source, until) = match extents.get(index) {
            Some(extent) if start(extent) <= position => {
                let skip_bytes = position - start(extent);
                (Source::Extent(*extent, skip_bytes), end(extent))
            }
            Some(extent) => (Source::Hole, start(extent)),
            None => (Source::Hole, u64::MAX),
        };
        let end_of_blocks = self.inline_start().unwrap_or(self.data.size_bytes);
        Piece {
            source,
            length_bytes: until.min(end_of_blocks).saturating_sub(position),
        }
    }

    /// Returns the position in the file at which the part behind the inode starts. `None` if there
    /// is no such part.
    fn inline_start(&self) -> Option<u64> {
        let size_bytes = self.data.size_bytes;
        let is_inline = self.data.inline_offset_bytes.is_some() && size_bytes > 0;
        is_inline.then(|| size_bytes - self.image.block_size.last_block_bytes(size_bytes))
    }

    /// Returns the rest of the part behind the inode. `None` if the position is not in it.
    fn inline_piece(&self) -> Option<Piece> {
        let skip_bytes = self.position_bytes.checked_sub(self.inline_start()?)?;
        let offset_bytes = self.data.inline_offset_bytes?.get();
        Some(Piece {
            source: Source::Inline(offset_bytes.saturating_add(skip_bytes)),
            length_bytes: self.data.size_bytes.saturating_sub(self.position_bytes),
        })
    }

    fn read_extent(
        &self,
        extent: &Extent,
        skip_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), ReadError> {
        let start = self.image.block_size.offset_bytes(extent.start_block);
        self.read_device(extent.device, start.saturating_add(skip_bytes), buffer)
    }

    fn read_device(&self, device: u16, on_device: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let image = &self.image.source;
        let (result, offset_bytes) = match device.checked_sub(1) {
            None => (image.read_exact_at(buffer, on_device), on_device),
            Some(_) if self.devices.is_empty() => {
                let start = self.image.space.start(device);
                let unified = self.image.block_size.offset_bytes(start);
                let unified = unified.saturating_add(on_device);
                (image.read_exact_at(buffer, unified), unified)
            }
            Some(slot) => {
                let source = self.devices.get(usize::from(slot));
                let source = source.ok_or(ReadError::MissingDevice { device })?;
                (source.read_exact_at(buffer, on_device), on_device)
            }
        };
        result.map_err(|source| ReadError::Io {
            device,
            offset_bytes,
            source,
        })
    }
}

impl<R: ReadAt> Read for FileReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill(buffer).map_err(io::Error::other)
    }
}
