use std::fmt;
use std::io;

use block_tree::{BLOCK_BYTES, BlockTree, VerifyError};
use fstree::ReadAt;

use crate::error::{LengthError, ReadError};
use crate::failures::Failures;
use crate::source::Source;

/// Number of times that a block is read from the file before another source is asked.
pub const READS: usize = 3;
/// Length of a block in memory, in bytes.
const BLOCK_LENGTH: usize = 4096;

/// A file whose bytes are verified when they are read.
pub struct VerifiedFile<F, T> {
    name: String,
    file: F,
    tree: BlockTree<T>,
    sources: Vec<Box<dyn Source>>,
    failures: Failures,
}

impl<F, T> fmt::Debug for VerifiedFile<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedFile")
            .field("name", &self.name)
            .field("sources", &self.sources.len())
            .finish_non_exhaustive()
    }
}

impl<F: ReadAt, T: ReadAt> VerifiedFile<F, T> {
    /// Returns the file under a name, which errors and reports have. It has the length that the tree states, also if
    /// parts of it are missing.
    ///
    /// # Errors
    /// A [`LengthError`] if the length differs; otherwise the error of the system.
    pub fn new(name: impl Into<String>, file: F, tree: BlockTree<T>) -> io::Result<Self> {
        let (actual_bytes, expected_bytes) = (file.size_bytes()?, tree.length_bytes());
        if actual_bytes != expected_bytes {
            let length = LengthError {
                file: name.into(),
                actual_bytes,
                expected_bytes,
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, length));
        }
        Ok(Self {
            name: name.into(),
            file,
            tree,
            sources: Vec::new(),
            failures: Failures::default(),
        })
    }

    /// Adds a source, which is asked after the file and the sources before it.
    #[must_use]
    pub fn with_source(mut self, source: impl Source + 'static) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Reports each block that cannot be verified to `log`, once, and at most [`FAILURES_MAX`](crate::FAILURES_MAX)
    /// blocks.
    #[must_use]
    pub fn with_log(mut self, log: impl Fn(&ReadError) + Send + Sync + 'static) -> Self {
        self.failures = Failures::new(Box::new(log));
        self
    }

    /// Fills `buf` with whole blocks.
    fn read_blocks(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        if self.file.read_exact_at(buf, offset_bytes).is_err() {
            // A part of the range may be readable.
            return self.read_each(buf, offset_bytes);
        }
        let (mut rest, mut at) = (buf, offset_bytes);
        while !rest.is_empty() {
            let Some(bad) = self.first_bad(rest, at)? else {
                break;
            };
            let (_, from_bad) = rest.split_at_mut(in_buffer(bad - at));
            let (block, after) = from_bad.split_at_mut(from_bad.len().min(BLOCK_LENGTH));
            self.read_again(block, bad, READS - 1)?;
            (rest, at) = (after, bad + length_of(block));
        }
        Ok(())
    }

    /// Fills `buf` with whole blocks, one by one.
    fn read_each(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let mut at = offset_bytes;
        for block in buf.chunks_mut(BLOCK_LENGTH) {
            self.read_again(block, at, READS)?;
            at += length_of(block);
        }
        Ok(())
    }

    /// Fills `block` from the file, with at most this number of reads, or from a source.
    fn read_again(&self, block: &mut [u8], offset_bytes: u64, reads: usize) -> io::Result<()> {
        for _ in 0..reads {
            let read = self.file.read_exact_at(block, offset_bytes);
            if read.is_ok() && self.first_bad(block, offset_bytes)?.is_none() {
                return Ok(());
            }
        }
        for source in &self.sources {
            let fetched = source.fetch(block, offset_bytes);
            if fetched.is_ok() && self.first_bad(block, offset_bytes)?.is_none() {
                return Ok(());
            }
        }
        block.fill(0);
        Err(self.failed(ReadError::Block {
            file: self.name.clone(),
            offset_bytes,
        }))
    }

    /// Returns the offset in bytes of the first block that does not verify; `None` if all do. If the tree cannot tell,
    /// the blocks become zeros.
    fn first_bad(&self, blocks: &mut [u8], offset_bytes: u64) -> io::Result<Option<u64>> {
        match self.tree.verify(offset_bytes, blocks) {
            Ok(()) => Ok(None),
            Err(VerifyError::Block { offset_bytes }) => Ok(Some(offset_bytes)),
            Err(source) => {
                blocks.fill(0);
                Err(self.failed(ReadError::Tree {
                    file: self.name.clone(),
                    offset_bytes,
                    source,
                }))
            }
        }
    }

    /// Reports a failure and returns it as the error of a read.
    fn failed(&self, failure: ReadError) -> io::Error {
        self.failures.report(&failure);
        io::Error::new(io::ErrorKind::InvalidData, failure)
    }
}

impl<F: ReadAt, T: ReadAt> ReadAt for VerifiedFile<F, T> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let length_bytes = self.tree.length_bytes();
        let end_bytes = offset_bytes.checked_add(length_of(buf));
        let end_bytes = end_bytes.filter(|end| *end <= length_bytes);
        let end_bytes = end_bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
        let whole_end = if end_bytes == length_bytes {
            end_bytes
        } else {
            end_bytes / BLOCK_BYTES * BLOCK_BYTES
        };
        let (mut rest, mut at) = (buf, offset_bytes);
        while !rest.is_empty() {
            let block_bytes = at / BLOCK_BYTES * BLOCK_BYTES;
            let part_bytes = if at == block_bytes && at < whole_end {
                whole_end - at
            } else {
                end_bytes.min(block_bytes + BLOCK_BYTES) - at
            };
            let (part, after) = rest.split_at_mut(in_buffer(part_bytes));
            if at == block_bytes && at < whole_end {
                self.read_blocks(part, at)?;
            } else {
                // Only a part of the block is wanted, but all of it is verified.
                let mut block = [0; BLOCK_LENGTH];
                let length = in_buffer((length_bytes - block_bytes).min(BLOCK_BYTES));
                let (block, _) = block.split_at_mut(length);
                self.read_blocks(block, block_bytes)?;
                let skipped = block.get(in_buffer(at - block_bytes)..).unwrap_or_default();
                part.copy_from_slice(skipped.get(..part.len()).unwrap_or_default());
            }
            rest = after;
            at += part_bytes;
        }
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.tree.length_bytes())
    }
}

/// Returns the length of a buffer, in bytes.
fn length_of(buf: &[u8]) -> u64 {
    u64::try_from(buf.len()).expect("memory is shorter than 2^64 bytes")
}

/// Returns a number of bytes that is at most the length of a buffer.
fn in_buffer(bytes: u64) -> usize {
    usize::try_from(bytes).expect("the number is at most the length of a buffer")
}
