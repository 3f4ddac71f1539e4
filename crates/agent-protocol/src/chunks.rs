//! Streams of chunks, for blocking readers and writers.

use std::io::{self, Read, Write};

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc;

use crate::CHUNK_MAX_BYTES;

/// A reader of bytes that arrive in chunks. Reads block, so it is for threads that may block.
#[derive(Debug)]
pub struct ChunkReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

/// A writer that passes bytes on in chunks of at most [`CHUNK_MAX_BYTES`].
#[derive(Debug)]
pub struct ChunkWriter<F> {
    send: F,
    buffer: Vec<u8>,
}

impl ChunkReader {
    /// Returns a reader of the channel's chunks, until the channel ends or delivers an error.
    pub fn new(chunks: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self {
            chunks,
            current: Bytes::new(),
        }
    }
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                None => return Ok(0),
                Some(chunk) => self.current = chunk?,
            }
        }
        let count = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

impl<F: FnMut(Bytes) -> bool> ChunkWriter<F> {
    /// Returns a writer that passes chunks to `send`, which may block.
    ///
    /// `send` returns false if no more chunks are wanted. Bytes that were not flushed are lost.
    pub fn new(send: F) -> Self {
        Self {
            send,
            buffer: Vec::with_capacity(CHUNK_MAX_BYTES),
        }
    }
}

impl<F: FnMut(Bytes) -> bool> Write for ChunkWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK_MAX_BYTES - self.buffer.len();
        let taken = bytes.len().min(room);
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == CHUNK_MAX_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_MAX_BYTES));
        if (self.send)(chunk.into()) {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_as_they_went() {
        let (sender, mut receiver) = mpsc::channel(1);
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let sent = bytes.clone();
        let writing = std::thread::spawn(move || {
            let mut writer = ChunkWriter::new(|chunk| sender.blocking_send(chunk).is_ok());
            writer.write_all(&sent).and_then(|()| writer.flush())
        });
        let (again, chunks) = mpsc::channel(1);
        std::thread::spawn(move || {
            while let Some(chunk) = receiver.blocking_recv() {
                assert!(chunk.len() <= CHUNK_MAX_BYTES);
                let _ = again.blocking_send(Ok(chunk));
            }
        });
        let mut read = Vec::new();
        ChunkReader::new(chunks)
            .read_to_end(&mut read)
            .expect("read");
        writing.join().expect("ended").expect("written");
        assert!(read == bytes);
    }
}
