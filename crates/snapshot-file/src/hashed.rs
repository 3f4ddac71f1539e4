use std::io::{self, BufRead, Read, Write};

use sha2::{Digest as _, Sha256};

/// A stream whose bytes are hashed as they pass.
#[derive(Debug)]
pub(crate) struct Hashed<T> {
    inner: T,
    hash: Sha256,
}

impl<T> Hashed<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    /// Returns the stream, and the SHA-256 of the bytes that have passed.
    pub(crate) fn into_parts(self) -> (T, [u8; 32]) {
        (self.inner, self.hash.finalize().into())
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: BufRead> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Hashed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // The buffer is filled: only bytes of it are consumed.
        if let Ok(bytes) = self.inner.fill_buf() {
            self.hash.update(&bytes[..count.min(bytes.len())]);
        }
        self.inner.consume(count);
    }
}
