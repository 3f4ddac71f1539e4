use std::io::{self, Read, Write};

use super::{Image, ReadAt, ReadError};
use crate::format::BLOCK_SIZE_BYTES;
use crate::{Extent, FileData};

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// The content of one file, holes as zeros.
pub struct FileReader<'a, R> {
    image: &'a Image<R>,
    data: &'a FileData,
    devices: &'a [&'a dyn ReadAt],
    position_bytes: u64,
}

/// What lies at a place in a file.
struct Piece {
    /// The extent, and how far into it; `None` in a hole.
    source: Option<(Extent, u64)>,
    /// Bytes to the end of the extent, the hole or the file.
    length_bytes: u64,
}

impl<R: ReadAt> Image<R> {
    /// A reader of one file's content, at its start.
    ///
    /// `devices` are the image's devices in order. None at all says that the image's own source
    /// holds them, one after the other as the device table maps them.
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

    /// Copies one file's content to `out`, holes as zeros. `devices` as in
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

impl<R: ReadAt> FileReader<'_, R> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let piece = self.piece();
        let available = usize::try_from(piece.length_bytes).unwrap_or(usize::MAX);
        let count = available.min(buffer.len());
        let buffer = &mut buffer[..count];
        match piece.source {
            None => buffer.fill(0),
            Some((extent, skip_bytes)) => self.read_extent(&extent, skip_bytes, buffer)?,
        }
        self.position_bytes += piece
            .length_bytes
            .min(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }

    fn piece(&self) -> Piece {
        let position = self.position_bytes;
        let extents = &self.data.extents;
        let start = |extent: &Extent| extent.file_block.saturating_mul(BLOCK_SIZE_BYTES);
        let end = |extent: &Extent| {
            let end_block = extent.file_block.saturating_add(extent.blocks);
            end_block.saturating_mul(BLOCK_SIZE_BYTES)
        };
        let index = extents.partition_point(|extent| end(extent) <= position);
        let (source, until) = match extents.get(index) {
            Some(extent) if start(extent) <= position => {
                (Some((*extent, position - start(extent))), end(extent))
            }
            Some(extent) => (None, start(extent)),
            None => (None, u64::MAX),
        };
        Piece {
            source,
            length_bytes: until.min(self.data.size_bytes).saturating_sub(position),
        }
    }

    fn read_extent(
        &self,
        extent: &Extent,
        skip_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), ReadError> {
        let block_bytes = |block: u32| u64::from(block) * BLOCK_SIZE_BYTES;
        let device = extent.device;
        let on_device = block_bytes(extent.start_block).saturating_add(skip_bytes);
        let (result, offset_bytes) = match device.checked_sub(1) {
            None => (
                self.image.source.read_exact_at(buffer, on_device),
                on_device,
            ),
            Some(_) if self.devices.is_empty() => {
                let unified = block_bytes(self.image.space.start(device)).saturating_add(on_device);
                (self.image.source.read_exact_at(buffer, unified), unified)
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
