use std::io::{self, Write};

use fstree::Segment;

use super::block::{self, OCTAL_7_MAX};
use super::records::Records;
use crate::BLOCK_BYTES;
use crate::entry::{EntryHeader, EntryKind};
use crate::error::WriteError;

/// Bytes of content that are copied at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// Most segments that a sparse file is written with, because readers limit its map. The rest of the
/// file is written as data, including its holes.
const SEGMENTS_MAX: usize = 1 << 14;

/// Writes an archive, entry by entry. It is complete after [`ArchiveWriter::finish`].
#[derive(Debug)]
pub struct ArchiveWriter<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> ArchiveWriter<W> {
    /// Returns a writer of an archive without entries.
    pub const fn new(out: W) -> Self {
        Self {
            out,
            buffer: Vec::new(),
        }
    }

    /// Adds an entry without content.
    ///
    /// # Errors
    /// The output fails, or PAX cannot store the entry.
    pub fn entry(&mut self, header: &EntryHeader<'_>) -> Result<(), WriteError> {
        let slashed;
        let path = match header.kind {
            EntryKind::Directory if !header.path.ends_with(b"/") => {
                slashed = [header.path, b"/"].concat();
                &slashed
            }
            _ => header.path,
        };
        self.header(header, path, &Records::for_entry(header, path, 0)?, 0)
    }

    /// Adds a regular file of `size_bytes`.
    ///
    /// `segments` are the ranges that hold data, in ascending order, with holes between them.
    /// `read` fills a buffer from an offset in the file.
    ///
    /// # Errors
    /// `read` or the output fails, or PAX cannot store the entry.
    pub fn file(
        &mut self,
        header: &EntryHeader<'_>,
        size_bytes: u64,
        segments: Vec<Segment>,
        read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let segments = bounded(segments, size_bytes);
        let data_bytes: u64 = segments.iter().map(|segment| segment.length_bytes).sum();
        let stored_bytes = if data_bytes == size_bytes {
            let records = Records::for_entry(header, header.path, data_bytes)?;
            self.header(header, header.path, &records, data_bytes)?;
            data_bytes
        } else {
            let map = sparse_map(&segments, size_bytes);
            let stored_bytes = data_bytes + length_bytes(&map);
            let name = block::sparse_name(header.path);
            let mut records = Records::for_entry(header, &name, stored_bytes)?;
            records.add_sparse(header.path, size_bytes);
            self.header(header, &name, &records, stored_bytes)?;
            self.write(&map)?;
            stored_bytes
        };
        for segment in segments {
            self.copy(header.path, segment, read)?;
        }
        self.pad(stored_bytes)
    }

    /// Ends the archive and returns the flushed output.
    ///
    /// # Errors
    /// The output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK_BYTES])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn header(
        &mut self,
        header: &EntryHeader<'_>,
        path: &[u8],
        records: &Records,
        stored_bytes: u64,
    ) -> Result<(), WriteError> {
        check_device(header)?;
        let body = records.body();
        if !body.is_empty() {
            let length_bytes = length_bytes(body);
            self.write(&block::records_block(path, length_bytes))?;
            self.write(body)?;
            self.pad(length_bytes)?;
        }
        self.write(&block::block(header, path, stored_bytes))
    }

    fn copy(
        &mut self,
        path: &[u8],
        segment: Segment,
        read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        self.buffer.resize(PIECE_BYTES, 0);
        let mut done_bytes = 0;
        while done_bytes < segment.length_bytes {
            let left = usize::try_from(segment.length_bytes - done_bytes).unwrap_or(PIECE_BYTES);
            let piece = &mut self.buffer[..left.min(PIECE_BYTES)];
            let offset_bytes = segment.offset_bytes + done_bytes;
            read(offset_bytes, piece).map_err(|source| WriteError::Content {
                path: path.into(),
                source,
            })?;
            self.out.write_all(piece).map_err(WriteError::Output)?;
            done_bytes += length_bytes(piece);
        }
        Ok(())
    }

    fn pad(&mut self, length_bytes: u64) -> Result<(), WriteError> {
        const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
        let missing = length_bytes.next_multiple_of(self::length_bytes(&ZEROS)) - length_bytes;
        self.write(&ZEROS[..usize::try_from(missing).unwrap_or(0)])
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.out.write_all(bytes).map_err(WriteError::Output)
    }
}

/// Checks that each part of a device number fits seven octal digits. PAX has no record for it.
fn check_device(header: &EntryHeader<'_>) -> Result<(), WriteError> {
    match header.kind {
        EntryKind::CharDevice(device) | EntryKind::BlockDevice(device)
            if u64::from(device.major.max(device.minor)) > OCTAL_7_MAX =>
        {
            Err(WriteError::DeviceNumber {
                path: header.path.into(),
                device,
            })
        }
        _ => Ok(()),
    }
}

/// Returns at most as many segments as a reader accepts, without empty ones.
fn bounded(mut segments: Vec<Segment>, size_bytes: u64) -> Vec<Segment> {
    if let Some(last) = segments.get_mut(SEGMENTS_MAX - 1) {
        last.length_bytes = size_bytes.saturating_sub(last.offset_bytes);
        segments.truncate(SEGMENTS_MAX);
    }
    segments.retain(|segment| segment.length_bytes > 0);
    segments
}

/// Encodes the map of PAX 1.0: decimal lines, padded to a block. A file that ends with a hole has
/// an empty segment at its end, from which GNU tar knows the file's length.
fn sparse_map(segments: &[Segment], size_bytes: u64) -> Vec<u8> {
    let data_end = segments
        .last()
        .map_or(0, |last| last.offset_bytes + last.length_bytes);
    let end = (data_end < size_bytes).then_some((size_bytes, 0));
    let pairs = segments
        .iter()
        .map(|segment| (segment.offset_bytes, segment.length_bytes));
    let pairs: Vec<(u64, u64)> = pairs.chain(end).collect();
    let mut map = format!("{}\n", pairs.len());
    for (offset_bytes, length_bytes) in pairs {
        map.push_str(&format!("{offset_bytes}\n{length_bytes}\n"));
    }
    let mut map = map.into_bytes();
    map.resize(map.len().next_multiple_of(BLOCK_BYTES), 0);
    map
}

fn length_bytes(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("memory is shorter than 2^64 bytes")
}
