use std::io::{self, Write};

use blake3::Hasher;
use erofs_writer::BLOCK_SIZE_BYTES;

use super::varint;
use crate::checksum::Checksum;

/// Most bytes of the tar that are held before they are compressed.
const HELD_MAX_BYTES: usize = 64 * 1024;
/// Level of zstd: 1 takes a third of the time of 3 and a tenth more space.
const LEVEL: i32 = 1;

/// Writer of an outline. The parts of the tar come in their order.
pub struct OutlineWriter<W: Write> {
    encoder: zstd::stream::write::Encoder<'static, Checked<W>>,
    /// Bytes of the tar that are not written yet; empty while a copy is held.
    held: Vec<u8>,
    /// Offset in the image and length of a copy that is not written yet, in bytes.
    copy: Option<(u64, u64)>,
    /// Offset in the image at which the next copy most likely begins, in bytes.
    expected_bytes: u64,
    tar_bytes: u64,
    instruction: Vec<u8>,
}

/// Result of the writing of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Length of the outline, in bytes.
    pub size_bytes: u64,
    /// Checksum of the outline.
    pub blake3: Checksum,
    /// Length of the tar, in bytes.
    pub tar_bytes: u64,
}

impl<W: Write> OutlineWriter<W> {
    /// Returns a writer to an empty file.
    ///
    /// # Errors
    /// If there is no memory for the compression.
    pub fn new(file: W) -> io::Result<Self> {
        let checked = Checked {
            file,
            hasher: Hasher::new(),
        };
        Ok(Self {
            encoder: zstd::stream::write::Encoder::new(checked, LEVEL)?,
            held: Vec::new(),
            copy: None,
            expected_bytes: 0,
            tar_bytes: 0,
            instruction: Vec::new(),
        })
    }

    /// Adds bytes of the tar that the image lacks.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn literal(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.flush_copy()?;
        self.tar_bytes += length(bytes);
        if self.held.len() + bytes.len() > HELD_MAX_BYTES {
            self.flush_literal()?;
        }
        if bytes.len() > HELD_MAX_BYTES {
            return self.write_literal(bytes);
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds bytes of the tar that the image has at an offset.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn copy(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        if length_bytes == 0 {
            return Ok(());
        }
        self.flush_literal()?;
        self.tar_bytes += length_bytes;
        if let Some((start_bytes, copied_bytes)) = &mut self.copy
            && *start_bytes + *copied_bytes == offset_bytes
        {
            *copied_bytes += length_bytes;
            return Ok(());
        }
        self.flush_copy()?;
        self.copy = Some((offset_bytes, length_bytes));
        Ok(())
    }

    /// Ends the outline. Returns the file, not yet synced.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.flush_literal()?;
        self.flush_copy()?;
        self.encoder.write_all(&[0])?;
        let Checked { mut file, hasher } = self.encoder.finish()?;
        file.flush()?;
        let written = Written {
            size_bytes: hasher.count(),
            blake3: Checksum::of_hasher(&hasher),
            tar_bytes: self.tar_bytes,
        };
        Ok((file, written))
    }

    fn flush_literal(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let mut held = std::mem::take(&mut self.held);
        self.write_literal(&held)?;
        held.clear();
        self.held = held;
        Ok(())
    }

    fn write_literal(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.instruction.clear();
        varint::put(&mut self.instruction, length(bytes) << 1);
        self.encoder.write_all(&self.instruction)?;
        self.encoder.write_all(bytes)
    }

    fn flush_copy(&mut self) -> io::Result<()> {
        let Some((offset_bytes, length_bytes)) = self.copy.take() else {
            return Ok(());
        };
        let distance = offset_bytes.wrapping_sub(self.expected_bytes);
        self.instruction.clear();
        varint::put(&mut self.instruction, length_bytes << 1 | 1);
        varint::put(
            &mut self.instruction,
            varint::zigzag(distance.cast_signed()),
        );
        self.expected_bytes = next_block(offset_bytes + length_bytes);
        self.encoder.write_all(&self.instruction)
    }
}

/// Returns the offset of the first block that begins at `offset_bytes` or behind it, in bytes.
pub(super) const fn next_block(offset_bytes: u64) -> u64 {
    offset_bytes
        .div_ceil(BLOCK_SIZE_BYTES)
        .saturating_mul(BLOCK_SIZE_BYTES)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A file that is digested while it is written.
struct Checked<W> {
    file: W,
    hasher: Hasher,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or(bytes));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
