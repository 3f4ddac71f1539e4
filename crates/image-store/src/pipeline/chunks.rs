use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::digest::{Digest, Hasher};

/// Length of a chunk between two threads, in bytes.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;
/// Chunks on their way between two threads.
pub(crate) const CHUNKS_IN_FLIGHT: usize = 4;

/// What goes from the decompressing thread to the converting one.
#[derive(Debug)]
pub(crate) enum Chunk {
    Data(Vec<u8>),
    /// All of it came, and it was right. Without it, the stream was cut.
    End,
}

/// Sends all of `source`, without the [`Chunk::End`]; `false` when nobody reads any more.
pub(crate) fn send_all(source: &mut dyn Read, chunks: &SyncSender<Chunk>) -> io::Result<bool> {
    loop {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let limit = u64::try_from(CHUNK_BYTES).unwrap_or(u64::MAX);
        source.take(limit).read_to_end(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(true);
        }
        if chunks.send(Chunk::Data(chunk)).is_err() {
            return Ok(false);
        }
    }
}

/// The other end: a stream again, digested as it is read.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    chunks: Receiver<Chunk>,
    current: io::Cursor<Vec<u8>>,
    state: State,
    hasher: HasherBox,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Cut,
}

#[derive(Default)]
struct HasherBox(Hasher);

impl std::fmt::Debug for HasherBox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Hasher")
    }
}

impl ChunkReader {
    pub(crate) fn new(chunks: Receiver<Chunk>) -> Self {
        let current = io::Cursor::default();
        Self {
            chunks,
            current,
            state: State::Open,
            hasher: HasherBox::default(),
        }
    }

    /// Whether the sender gave up.
    pub(crate) fn was_cut(&self) -> bool {
        self.state == State::Cut
    }

    /// The digest of all that was read.
    pub(crate) fn digest(self) -> Digest {
        self.hasher.0.finish()
    }
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.current.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if self.state == State::Ended {
                return Ok(0);
            }
            match self.chunks.recv() {
                Ok(Chunk::Data(chunk)) => {
                    self.hasher.0.update(&chunk);
                    self.current = io::Cursor::new(chunk);
                }
                Ok(Chunk::End) => self.state = State::Ended,
                Err(_) => {
                    self.state = State::Cut;
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the layer was cut off",
                    ));
                }
            }
        }
    }
}

/// A registry's answer, as it comes, for a thread to read. Ends when the sender does.
#[derive(Debug)]
pub(crate) struct BodyReader {
    parts: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl BodyReader {
    pub(crate) fn new(parts: mpsc::Receiver<Bytes>) -> Self {
        Self {
            parts,
            current: Bytes::new(),
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.parts.blocking_recv() {
                Some(part) => self.current = part,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.current.len());
        buffer[..count].copy_from_slice(&self.current.split_to(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_stream_passes_whole_and_digested() {
        let bytes: Vec<u8> = (0..700_000_u32).flat_map(u32::to_le_bytes).collect();
        let (sender, receiver) = sync_channel(CHUNKS_IN_FLIGHT);
        let mut reader = ChunkReader::new(receiver);
        let mut out = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(send_all(&mut &bytes[..], &sender).expect("sent"));
                sender.send(Chunk::End).expect("received");
            });
            reader.read_to_end(&mut out).expect("read");
        });
        assert!(out == bytes);
        assert_eq!(reader.digest(), Digest::of(&bytes));
    }

    #[test]
    fn a_stream_without_an_end_was_cut() {
        let (sender, receiver) = sync_channel(1);
        sender.send(Chunk::Data(vec![1])).expect("sent");
        drop(sender);
        let mut reader = ChunkReader::new(receiver);
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
        assert!(reader.was_cut());
    }
}
