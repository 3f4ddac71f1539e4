use std::io::{self, Read};

use super::BLOCK_BYTES;
use crate::error::{Exceeded, LayerError};

/// Bytes that are skipped at a time.
const SKIP_BYTES: usize = 32 * 1024;

/// A stream that knows where it stands and remembers why it failed.
#[derive(Debug)]
pub(crate) struct Stream<R> {
    inner: R,
    offset_bytes: u64,
    failure: Option<LayerError>,
}

impl<R: Read> Stream<R> {
    pub(crate) const fn new(inner: R) -> Self {
        Self {
            inner,
            offset_bytes: 0,
            failure: None,
        }
    }

    pub(crate) const fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Why [`Read::read`] failed or came to an early end, when it did.
    pub(crate) const fn take_failure(&mut self) -> Option<LayerError> {
        self.failure.take()
    }

    /// Reads up to a buffer; fewer bytes only at the end of the stream.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, LayerError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_some(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Reads exactly a buffer.
    pub(crate) fn exact(&mut self, buffer: &mut [u8]) -> Result<(), LayerError> {
        if self.fill(buffer)? == buffer.len() {
            Ok(())
        } else {
            Err(self.truncated())
        }
    }

    /// Reads a whole block.
    pub(crate) fn block(&mut self) -> Result<[u8; BLOCK_BYTES], LayerError> {
        let mut block = [0; BLOCK_BYTES];
        self.exact(&mut block)?;
        Ok(block)
    }

    /// Passes over bytes that must be there.
    pub(crate) fn skip(&mut self, length_bytes: u64) -> Result<(), LayerError> {
        if length_bytes == 0 || self.skip_up_to(length_bytes)? == length_bytes {
            Ok(())
        } else {
            Err(self.truncated())
        }
    }

    /// Passes over bytes as far as there are any, and says how many.
    pub(crate) fn skip_up_to(&mut self, length_bytes: u64) -> Result<u64, LayerError> {
        let mut buffer = [0; SKIP_BYTES];
        let start_bytes = self.offset_bytes;
        let mut missing_bytes = length_bytes;
        while missing_bytes > 0 {
            let wanted = usize::try_from(missing_bytes).map_or(SKIP_BYTES, |n| n.min(SKIP_BYTES));
            if self.read_some(&mut buffer[..wanted])? == 0 {
                break;
            }
            missing_bytes = length_bytes - (self.offset_bytes - start_bytes);
        }
        Ok(self.offset_bytes - start_bytes)
    }

    pub(crate) const fn truncated(&self) -> LayerError {
        LayerError::Truncated {
            offset_bytes: self.offset_bytes,
        }
    }

    /// The error of a limit that is passed here.
    pub(crate) const fn beyond(&self, source: Exceeded) -> LayerError {
        LayerError::Limit {
            offset_bytes: self.offset_bytes,
            source,
        }
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, LayerError> {
        loop {
            match self.inner.read(buffer) {
                Ok(count) => {
                    self.offset_bytes += u64::try_from(count).expect("a buffer is below 2^64");
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(LayerError::Io {
                        offset_bytes: self.offset_bytes,
                        source,
                    });
                }
            }
        }
    }
}

/// For content that another reads: it gets a short message, [`Stream::take_failure`] has the rest.
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
                Err(io::Error::other("the layer stream failed"))
            }
        }
    }
}
