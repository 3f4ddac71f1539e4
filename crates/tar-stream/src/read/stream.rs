use std::io::{self, Read, Seek, SeekFrom};

use crate::BLOCK_BYTES;
use crate::error::ReadError;
use crate::limits::{Exceeded, Limit, Limits};

/// Bytes that are read at a time to skip them.
const SKIP_BYTES: usize = 32 * 1024;

/// Skips at most this number of bytes, and returns the number that were; 0 only at the end.
type Skip<R> = fn(&mut R, u64) -> io::Result<u64>;

/// A stream that knows its offset and remembers the reason for a failure.
#[derive(Debug)]
pub(super) struct Stream<R> {
    inner: R,
    skip: Skip<R>,
    offset_bytes: u64,
    failure: Option<ReadError>,
}

impl<R: Read> Stream<R> {
    pub(super) const fn new(inner: R) -> Self {
        Self {
            inner,
            skip: read_past,
            offset_bytes: 0,
            failure: None,
        }
    }

    pub(super) fn into_inner(self) -> R {
        self.inner
    }

    pub(super) const fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Takes the error for which [`Read::read`] failed or ended early. `None` if it did not.
    pub(super) const fn take_failure(&mut self) -> Option<ReadError> {
        self.failure.take()
    }

    /// Reads up to the length of a buffer, with fewer bytes only at the end of the stream.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_some(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Fills a buffer, or fails if the stream ends before.
    pub(super) fn exact(&mut self, buffer: &mut [u8]) -> Result<(), ReadError> {
        if self.fill(buffer)? == buffer.len() {
            Ok(())
        } else {
            Err(self.truncated())
        }
    }

    /// Reads one whole block.
    pub(super) fn block(&mut self) -> Result<[u8; BLOCK_BYTES], ReadError> {
        let mut block = [0; BLOCK_BYTES];
        self.exact(&mut block)?;
        Ok(block)
    }

    /// Reads the body of an extended header without its padding. The limit bounds its length.
    pub(super) fn body(&mut self, size_bytes: u64, limits: &Limits) -> Result<Vec<u8>, ReadError> {
        let checked = limits.check(Limit::Record, size_bytes);
        checked.map_err(|source| self.beyond(source))?;
        // Memory grows with the bytes that arrive, and not with the length that is claimed.
        let mut body = Vec::new();
        let read = self.by_ref().take(size_bytes).read_to_end(&mut body);
        match (read, self.take_failure()) {
            (_, Some(failure)) => Err(failure),
            (Ok(_), None) => Ok(body),
            (Err(_), None) => Err(self.truncated()),
        }
    }

    /// Skips bytes that must exist.
    pub(super) fn skip(&mut self, length_bytes: u64) -> Result<(), ReadError> {
        if length_bytes == 0 || self.skip_up_to(length_bytes)? == length_bytes {
            Ok(())
        } else {
            Err(self.truncated())
        }
    }

    /// Skips bytes up to the end of the stream. Returns the number of skipped bytes.
    pub(super) fn skip_up_to(&mut self, length_bytes: u64) -> Result<u64, ReadError> {
        let mut missing_bytes = length_bytes;
        while missing_bytes > 0 {
            match (self.skip)(&mut self.inner, missing_bytes) {
                Ok(0) => break,
                Ok(count) => {
                    self.offset_bytes += count;
                    missing_bytes -= count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.failed(source)),
            }
        }
        Ok(length_bytes - missing_bytes)
    }

    pub(super) const fn truncated(&self) -> ReadError {
        ReadError::Truncated {
            offset_bytes: self.offset_bytes,
        }
    }

    /// Returns the error of a limit that is exceeded at the current offset.
    pub(super) const fn beyond(&self, source: Exceeded) -> ReadError {
        ReadError::Limit {
            offset_bytes: self.offset_bytes,
            source,
        }
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        loop {
            match self.inner.read(buffer) {
                Ok(count) => {
                    self.offset_bytes += u64::try_from(count).expect("a buffer is below 2^64");
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.failed(source)),
            }
        }
    }

    const fn failed(&self, source: io::Error) -> ReadError {
        ReadError::Io {
            offset_bytes: self.offset_bytes,
            source,
        }
    }
}

impl<R: Read + Seek> Stream<R> {
    /// Returns a stream that seeks past the bytes that it skips.
    pub(super) const fn seekable(inner: R) -> Self {
        Self {
            inner,
            skip: seek_past,
            offset_bytes: 0,
            failure: None,
        }
    }
}

fn read_past<R: Read>(inner: &mut R, length_bytes: u64) -> io::Result<u64> {
    let mut buffer = [0; SKIP_BYTES];
    let wanted = usize::try_from(length_bytes).map_or(SKIP_BYTES, |n| n.min(SKIP_BYTES));
    let count = inner.read(&mut buffer[..wanted])?;
    Ok(u64::try_from(count).expect("a buffer is below 2^64"))
}

fn seek_past<R: Seek>(inner: &mut R, length_bytes: u64) -> io::Result<u64> {
    let start_bytes = inner.stream_position()?;
    // A file may be positioned beyond its end.
    let left_bytes = inner.seek(SeekFrom::End(0))?.saturating_sub(start_bytes);
    let count = length_bytes.min(left_bytes);
    inner.seek(SeekFrom::Start(start_bytes + count))?;
    Ok(count)
}

/// For readers of content: they get a short error, and [`Stream::take_failure`] has the reason.
impl<R: Read> Read for Stream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.read_some(buffer) {
            Ok(0) if !buffer.is_empty() => {
                self.failure = Some(self.truncated());
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(count) => Ok(count),
            Err(error) => {
                self.failure = Some(error);
                Err(io::Error::other("the stream of the archive failed"))
            }
        }
    }
}
