use std::fmt;

use super::DumpError;
use crate::length::Length as _;
use crate::read::{Image, ReadAt};
use crate::verify::Region;

/// Size of the buffer for blocks of which only the checksum is shown, in bytes.
const PIECE_BYTES: u64 = 256 * 1024;

/// An image, and the output for its text.
pub(super) struct Page<'image, 'out, R> {
    pub(super) image: &'image Image<R>,
    pub(super) out: &'out mut dyn fmt::Write,
}

impl<R: ReadAt> Page<'_, '_, R> {
    /// Writes one named value.
    pub(super) fn field(&mut self, name: &str, value: &dyn fmt::Display) -> Result<(), DumpError> {
        writeln!(self.out, "    {name:<24} {value}")?;
        Ok(())
    }

    /// Writes named numbers in decimal, except those that are zero.
    pub(super) fn numbers(&mut self, fields: &[(&str, u64)]) -> Result<(), DumpError> {
        for (name, value) in fields.iter().filter(|(_, value)| *value != 0) {
            self.field(name, value)?;
        }
        Ok(())
    }

    /// Writes named numbers in hexadecimal, except those that are zero.
    pub(super) fn flags(&mut self, fields: &[(&str, u64)]) -> Result<(), DumpError> {
        for (name, value) in fields.iter().filter(|(_, value)| *value != 0) {
            self.field(name, &format_args!("{value:#x}"))?;
        }
        Ok(())
    }

    /// Writes one named text, without the zeros at its end.
    pub(super) fn text(&mut self, name: &str, bytes: &[u8]) -> Result<(), DumpError> {
        let last = bytes.iter().rposition(|&byte| byte != 0);
        match last.map(|last| &bytes[..=last]) {
            None => Ok(()),
            Some(shown) => self.field(name, &format_args!("\"{}\"", shown.escape_ascii())),
        }
    }

    /// Returns the CRC-32C of a region's blocks.
    pub(super) fn crc32c(&self, region: &Region) -> Result<u32, DumpError> {
        let block_size = self.image.layout.block_size();
        let mut position = region.start_block.saturating_mul(block_size);
        let end = region.end().saturating_mul(block_size);
        let mut crc = 0;
        while position < end {
            let length = PIECE_BYTES.min(end - position);
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            self.image.blocks.read(&mut bytes, position)?;
            crc = crc32c::crc32c_append(crc, &bytes);
            position += bytes.length_bytes().max(1);
        }
        Ok(crc)
    }
}
