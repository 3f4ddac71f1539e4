use std::io::{Seek, SeekFrom, Write};

use crate::error::WriteError;
use crate::format::BLOCK_BYTES;
use crate::length::Length;

/// A writer that knows where in the image it is.
#[derive(Debug)]
pub(super) struct Output<W> {
    out: W,
    offset_bytes: u64,
}

impl<W: Write> Output<W> {
    /// `out` stands at the image's start.
    pub(super) const fn new(out: W) -> Self {
        Self {
            out,
            offset_bytes: 0,
        }
    }

    /// Where the next byte goes, from the image's start.
    pub(super) const fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.checked(|out| out.write_all(bytes))?;
        self.offset_bytes += bytes.length_bytes();
        Ok(())
    }

    /// Writes zeros up to `offset_bytes`.
    pub(super) fn pad_to(&mut self, offset_bytes: u64) -> Result<(), WriteError> {
        const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
        while self.offset_bytes < offset_bytes {
            let missing_bytes = offset_bytes - self.offset_bytes;
            let length = usize::try_from(missing_bytes).unwrap_or(BLOCK_BYTES);
            self.write(&ZEROS[..length.min(BLOCK_BYTES)])?;
        }
        Ok(())
    }

    /// Writes zeros up to a multiple of `alignment_bytes`.
    pub(super) fn align(&mut self, alignment_bytes: u64) -> Result<(), WriteError> {
        self.pad_to(self.offset_bytes.next_multiple_of(alignment_bytes))
    }

    /// Pushes what is buffered on its way and gives the writer back.
    pub(super) fn finish(mut self) -> Result<W, WriteError> {
        self.checked(W::flush)?;
        Ok(self.out)
    }

    fn checked<T>(
        &mut self,
        act: impl FnOnce(&mut W) -> std::io::Result<T>,
    ) -> Result<T, WriteError> {
        act(&mut self.out).map_err(|source| WriteError::Io {
            offset_bytes: self.offset_bytes,
            source,
        })
    }
}

impl<W: Write + Seek> Output<W> {
    /// Moves without writing: what is skipped stays as it is.
    pub(super) fn seek(&mut self, offset_bytes: u64) -> Result<(), WriteError> {
        self.offset_bytes = offset_bytes;
        self.checked(|out| out.seek(SeekFrom::Start(offset_bytes)))?;
        Ok(())
    }
}
