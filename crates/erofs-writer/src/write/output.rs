use std::io::{Read, Seek, SeekFrom, Write};

use crate::error::WriteError;
use crate::format::BLOCK_BYTES;
use crate::length::Length;

/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 512 * 1024;

/// A writer that knows its offset in the image, and writes large pieces.
#[derive(Debug)]
pub(super) struct Output<W> {
    out: W,
    /// The buffer, always at its full length; its first `filled` bytes are not written yet.
    buffer: Vec<u8>,
    filled: usize,
    offset_bytes: u64,
}

impl<W: Write> Output<W> {
    /// Returns an output for `out`, which must be at the image's start.
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            buffer: vec![0; BUFFER_BYTES],
            filled: 0,
            offset_bytes: 0,
        }
    }

    /// Returns the offset of the next byte, from the image's start.
    pub(super) const fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), WriteError> {
        while !bytes.is_empty() {
            let room = self.room()?;
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            self.advance(count);
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Returns the room for the next bytes, at least one. [`Output::advance`] must follow.
    pub(super) fn room(&mut self) -> Result<&mut [u8], WriteError> {
        if self.filled == self.buffer.len() {
            self.push()?;
        }
        Ok(&mut self.buffer[self.filled..])
    }

    /// Counts the first `count` bytes of the room as written.
    pub(super) fn advance(&mut self, count: usize) {
        self.filled += count;
        self.offset_bytes += self.buffer[..count].length_bytes();
    }

    /// Makes room for `length` bytes in one piece, which is at most the buffer's length.
    pub(super) fn reserve(&mut self, length: usize) -> Result<(), WriteError> {
        if self.buffer.len() - self.filled < length {
            self.push()?;
        }
        Ok(())
    }

    /// Returns the last `length` bytes, which must have been put into one piece of room.
    pub(super) fn last(&self, length: usize) -> &[u8] {
        &self.buffer[self.filled - length..self.filled]
    }

    /// Removes the last `length` bytes, which must still be in the buffer.
    pub(super) fn take_back(&mut self, length: usize) {
        self.filled -= length;
        self.offset_bytes -= self.buffer[..length].length_bytes();
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

    /// Writes and flushes the buffered bytes, and returns the writer.
    pub(super) fn finish(mut self) -> Result<W, WriteError> {
        self.push()?;
        self.checked(W::flush)?;
        Ok(self.out)
    }

    fn push(&mut self) -> Result<(), WriteError> {
        let pushed = self.out.write_all(&self.buffer[..self.filled]);
        self.checked(|_| pushed)?;
        self.filled = 0;
        Ok(())
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

impl<W: Read + Write + Seek> Output<W> {
    /// Returns true if the last `length` bytes equal the earlier bytes at `offset_bytes`.
    pub(super) fn repeats(&mut self, length: usize, offset_bytes: u64) -> Result<bool, WriteError> {
        let pushed_bytes = self.offset_bytes - self.buffer[..self.filled].length_bytes();
        let (earlier, last) = self.buffer[..self.filled].split_at(self.filled - length);
        if let Some(inside_bytes) = offset_bytes.checked_sub(pushed_bytes) {
            let start = usize::try_from(inside_bytes).unwrap_or(usize::MAX);
            let there = earlier.get(start..).and_then(|rest| rest.get(..length));
            return Ok(there == Some(last));
        }
        let mut there = vec![0; length];
        let out = &mut self.out;
        let read = out
            .seek(SeekFrom::Start(offset_bytes))
            .and_then(|_| out.read_exact(&mut there))
            .and_then(|()| out.seek(SeekFrom::Start(pushed_bytes)));
        match read {
            Ok(_) => Ok(there == last),
            Err(source) => Err(WriteError::ReadBack {
                offset_bytes,
                source,
            }),
        }
    }
}

impl<W: Write + Seek> Output<W> {
    /// Moves to `offset_bytes` without writing. The skipped bytes stay unchanged.
    pub(super) fn seek(&mut self, offset_bytes: u64) -> Result<(), WriteError> {
        self.push()?;
        self.offset_bytes = offset_bytes;
        self.checked(|out| out.seek(SeekFrom::Start(offset_bytes)))?;
        Ok(())
    }
}
