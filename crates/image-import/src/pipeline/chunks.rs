use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bytes::Bytes;
use oci_image::{Digest, Hasher};
use tokio::sync::mpsc;

/// Length of a chunk that is passed between two threads, in bytes.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;
/// Most chunks in the queue between two threads.
const CHUNKS_IN_FLIGHT: usize = 4;

/// A message from the decompressing thread to the converting one.
#[derive(Debug)]
enum Chunk {
    Data(Vec<u8>),
    /// End of valid content. A stream without it was cut.
    End,
}

/// Creates a stream of chunks from one thread to another. It takes the memory of the chunks in the
/// queue alone, because a chunk that was read is filled again.
pub(crate) fn chunk_stream() -> (ChunkSender, ChunkReader) {
    let (chunks, received) = sync_channel(CHUNKS_IN_FLIGHT);
    let (read, emptied) = sync_channel(CHUNKS_IN_FLIGHT + 1);
    let reader = ChunkReader {
        chunks: received,
        emptied: read,
        current: io::Cursor::default(),
        state: State::Open,
        hasher: HasherBox::default(),
    };
    (ChunkSender { chunks, emptied }, reader)
}

/// The writing end of a stream.
#[derive(Debug)]
pub(crate) struct ChunkSender {
    chunks: SyncSender<Chunk>,
    emptied: Receiver<Vec<u8>>,
}

impl ChunkSender {
    /// Sends all of `source`, but not the end. Returns false if the reader no longer exists.
    pub(crate) fn send_all(&self, source: &mut dyn Read) -> io::Result<bool> {
        loop {
            let mut chunk = self.emptied.try_recv().unwrap_or_default();
            chunk.resize(CHUNK_BYTES, 0);
            let filled = fill(source, &mut chunk)?;
            if filled == 0 {
                return Ok(true);
            }
            chunk.truncate(filled);
            if self.chunks.send(Chunk::Data(chunk)).is_err() {
                return Ok(false);
            }
        }
    }

    /// Sends the end of valid content. Returns false if the reader no longer exists.
    pub(crate) fn end(self) -> bool {
        self.chunks.send(Chunk::End).is_ok()
    }
}

/// Reads until the buffer is full or the source ends. Returns the number of bytes read.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The reading end of a stream, which digests the bytes as they are read.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    chunks: Receiver<Chunk>,
    emptied: SyncSender<Vec<u8>>,
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
    /// Returns true if the sender was dropped before the end of the content.
    pub(crate) fn was_cut(&self) -> bool {
        self.state == State::Cut
    }

    /// Returns the digest of all bytes that were read.
    pub(crate) fn digest(self) -> Digest {
        self.hasher.0.finish()
    }

    /// Continues with the next chunk, and returns the previous one to be filled again.
    fn turn_to(&mut self, chunk: Vec<u8>) {
        self.hasher.0.update(&chunk);
        let read = std::mem::replace(&mut self.current, io::Cursor::new(chunk));
        // A sender that has sent everything needs no more chunks.
        let _ = self.emptied.try_send(read.into_inner());
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
                Ok(Chunk::Data(chunk)) => self.turn_to(chunk),
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

/// The body of a registry's response, for a thread to read. It ends when the sender is dropped.
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
    use super::*;

    #[test]
    fn a_stream_passes_whole_and_digested() {
        let bytes: Vec<u8> = (0..700_000_u32).flat_map(u32::to_le_bytes).collect();
        let (sender, mut reader) = chunk_stream();
        let mut out = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The second source is shorter than a chunk: old bytes behind its end must not be
                // sent.
                assert!(sender.send_all(&mut &bytes[..]).expect("sent"));
                assert!(sender.send_all(&mut &bytes[..7]).expect("sent"));
                assert!(sender.end());
            });
            reader.read_to_end(&mut out).expect("read");
        });
        let expected = [&bytes[..], &bytes[..7]].concat();
        assert!(out == expected);
        assert_eq!(reader.digest(), Digest::compute(&expected));
    }

    #[test]
    fn a_stream_without_an_end_was_cut() {
        let (sender, mut reader) = chunk_stream();
        assert!(sender.send_all(&mut &[1][..]).expect("sent"));
        drop(sender);
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
        assert!(reader.was_cut());
    }

    #[test]
    fn nothing_is_sent_to_who_does_not_read() {
        let (sender, reader) = chunk_stream();
        drop(reader);
        assert!(!sender.send_all(&mut io::repeat(1)).expect("told"));
        assert!(!sender.end());
    }
}
