use std::fmt;
use std::ops::Range;

use super::{DumpError, PIECE_BYTES};
use crate::read::{Image, ReadAt, ReadError};

/// The image and the output for its text.
pub(super) struct Page<'image, 'out, R> {
    pub(super) image: &'image Image<R>,
    pub(super) out: &'out mut dyn fmt::Write,
}

impl<R: ReadAt> Page<'_, '_, R> {
    /// Writes one named value.
    pub(super) fn field(&mut self, name: &str, value: &dyn fmt::Display) -> Result<(), DumpError> {
        writeln!(self.out, "    {name:<22} {value}")?;
        Ok(())
    }

    /// Writes one named text of fixed length, without the zeros that fill it up.
    pub(super) fn text(&mut self, name: &str, bytes: &[u8]) -> Result<(), DumpError> {
        let end = bytes
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        self.field(name, &format_args!("\"{}\"", bytes[..end].escape_ascii()))
    }

    /// Writes bytes without a meaning, unless all of them are zero, as they should be.
    pub(super) fn unused(&mut self, name: &str, bytes: &[u8]) -> Result<(), DumpError> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        self.field(name, &format_args!("\"{}\"", bytes.escape_ascii()))
    }

    /// Writes the range between two structures, and those of its lines that are not all zero.
    pub(super) fn gap(&mut self, start: u64, end: u64) -> Result<(), DumpError> {
        if start >= end {
            return Ok(());
        }
        writeln!(self.out, "{start:#010x} padding, {} bytes", end - start)?;
        for piece in pieces(&(start..end)) {
            let bytes = self.bytes(&piece)?;
            for (offset, line) in (piece.start..).step_by(32).zip(bytes.chunks(32)) {
                if line.iter().any(|&byte| byte != 0) {
                    writeln!(self.out, "    {offset:#010x} \"{}\"", line.escape_ascii())?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn crc32c(&self, range: &Range<u64>) -> Result<u32, DumpError> {
        pieces(range).try_fold(0, |crc, piece| {
            Ok(crc32c::crc32c_append(crc, &self.bytes(&piece)?))
        })
    }

    /// Reads a range that is known to lie in the image.
    pub(super) fn bytes(&self, range: &Range<u64>) -> Result<Vec<u8>, DumpError> {
        let length_bytes = range.end - range.start;
        let mut bytes = vec![0; usize::try_from(length_bytes).unwrap_or(0)];
        let result = self.image.source.read_exact_at(&mut bytes, range.start);
        result.map_err(|source| {
            DumpError::Read(ReadError::Io {
                device: 0,
                offset_bytes: range.start,
                source,
            })
        })?;
        Ok(bytes)
    }
}

fn pieces(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let Range { mut start, end } = *range;
    std::iter::from_fn(move || {
        let piece = start..end.min(start.saturating_add(PIECE_BYTES));
        start = piece.end;
        (!piece.is_empty()).then_some(piece)
    })
}
