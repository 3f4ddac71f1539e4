use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use crate::header::{HEADER_BYTES, HEADER_LENGTH, header};
use crate::levels::Levels;
use crate::value::{
    BLOCK_BYTES, BLOCK_LENGTH, Content, VALUE_LENGTH, Value, blocks_of, length_of, value,
};

/// Most values that are held before they are written, in bytes.
const HELD_MAX_BYTES: usize = 32 * 1024;

/// Writer of the sidecar of a file, whose bytes come in order.
#[derive(Debug)]
pub struct TreeWriter<W> {
    sidecar: W,
    /// Bytes of the block that is not complete.
    partial: Vec<u8>,
    /// Offset of that block, in bytes.
    offset_bytes: u64,
    /// Value of the first block: if others follow, and if it is the whole file.
    first: Value,
    whole: Value,
    /// Values of later blocks that are not written yet.
    held: Vec<u8>,
}

/// Writer of the sidecar of a file, whose first block of 4 KiB comes last.
#[derive(Debug)]
pub struct HeadLastWriter<W>(TreeWriter<W>);

impl<W: Read + Write + Seek> TreeWriter<W> {
    /// Begins a sidecar in an empty file.
    ///
    /// # Errors
    /// If the sidecar cannot be written.
    pub fn new(sidecar: W) -> io::Result<Self> {
        Self::at(sidecar, 0)
    }

    fn at(mut sidecar: W, offset_bytes: u64) -> io::Result<Self> {
        // The header and the first value come last, so an unfinished sidecar is none.
        sidecar.write_all(&[0; HEADER_LENGTH + VALUE_LENGTH])?;
        Ok(Self {
            sidecar,
            partial: Vec::with_capacity(BLOCK_LENGTH),
            offset_bytes,
            first: Value::default(),
            whole: value(&[], 0, true),
            held: Vec::with_capacity(HELD_MAX_BYTES),
        })
    }

    /// Adds the next bytes of the file.
    ///
    /// # Errors
    /// If the sidecar cannot be written.
    pub fn update(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if !self.partial.is_empty() {
            let room = BLOCK_LENGTH - self.partial.len();
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.partial.extend_from_slice(now);
            bytes = later;
            if self.partial.len() == BLOCK_LENGTH {
                self.end_partial()?;
            }
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK_LENGTH>();
        for block in blocks {
            self.add(block)?;
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the file. Returns the sidecar, not yet synced, and the length and checksum of the file.
    ///
    /// # Errors
    /// If the sidecar cannot be written or read again.
    pub fn finish(mut self) -> io::Result<(W, Content)> {
        self.end_partial()?;
        let is_whole = self.offset_bytes <= BLOCK_BYTES;
        let first = if is_whole { self.whole } else { self.first };
        self.end(first)
    }

    fn end_partial(&mut self) -> io::Result<()> {
        if self.partial.is_empty() {
            return Ok(());
        }
        let mut block = std::mem::take(&mut self.partial);
        let added = self.add(&block);
        block.clear();
        self.partial = block;
        added
    }

    fn add(&mut self, block: &[u8]) -> io::Result<()> {
        let value_of_block = value(block, self.offset_bytes, false);
        if self.offset_bytes == 0 {
            self.first = value_of_block;
            self.whole = value(block, 0, true);
        } else {
            self.held.extend_from_slice(&value_of_block);
        }
        self.offset_bytes += length_of(block);
        if self.held.len() >= HELD_MAX_BYTES {
            self.write_held()?;
        }
        Ok(())
    }

    fn write_held(&mut self) -> io::Result<()> {
        self.sidecar.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }

    /// Writes the begin of the sidecar, and reads all values again for the checksum.
    fn end(mut self, first: Value) -> io::Result<(W, Content)> {
        self.write_held()?;
        let length_bytes = self.offset_bytes;
        let mut sidecar = self.sidecar;
        sidecar.rewind()?;
        sidecar.write_all(&header(length_bytes))?;
        sidecar.write_all(&first)?;
        sidecar.flush()?;
        sidecar.seek(SeekFrom::Start(HEADER_BYTES))?;
        let mut values = BufReader::with_capacity(HELD_MAX_BYTES, &mut sidecar);
        let mut levels = Levels::default();
        for _ in 0..blocks_of(length_bytes) {
            let mut block = Value::default();
            values.read_exact(&mut block)?;
            levels.push(block);
        }
        let (_, blake3) = levels.finish().expect("a file has at least one block");
        let content = Content {
            length_bytes,
            blake3,
        };
        Ok((sidecar, content))
    }
}

impl<W: Read + Write + Seek> HeadLastWriter<W> {
    /// Begins a sidecar in an empty file.
    ///
    /// # Errors
    /// If the sidecar cannot be written.
    pub fn new(sidecar: W) -> io::Result<Self> {
        TreeWriter::at(sidecar, BLOCK_BYTES).map(Self)
    }

    /// Adds the next bytes behind the first block.
    ///
    /// # Errors
    /// If the sidecar cannot be written.
    pub fn update(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.update(bytes)
    }

    /// Adds the first block and ends the file. Returns the sidecar, not yet synced, and the length and checksum of the
    /// file.
    ///
    /// # Errors
    /// If the sidecar cannot be written or read again.
    pub fn finish(mut self, head: &[u8; BLOCK_LENGTH]) -> io::Result<(W, Content)> {
        self.0.end_partial()?;
        let is_whole = self.0.offset_bytes == BLOCK_BYTES;
        self.0.end(value(head, 0, is_whole))
    }
}
