use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::digest::{Digest, Hasher};

/// Length of a chunk between two threads, in bytes.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;
/// Chunks on their way between two threads.
const CHUNKS_IN_FLIGHT: usize = 4;

/// What goes from the decompressing thread to the converting one.
#[derive(Debug)]
enum Chunk {
    Data(Vec<u8>),
    /// All of it came, and it was right. Without it, the stream was cut.
    End,
}

/// A stream of chunks from one thread to another. The few that are on their way are all the memory
/// that it takes: a chunk that has been read is filled again.
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

/// The end that is written to.
#[derive(Debug)]
pub(crate) struct ChunkSender {
    chunks: SyncSender<Chunk>,
    emptied: Receiver<Vec<u8>>,
}

impl ChunkSender {
    /// Sends all of `source`, without saying that it was right; `false` when nobody reads any more.
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

    /// Says that all came, and was right; `false` when nobody reads any more.
    pub(crate) fn end(self) -> bool {
        self.chunks.send(Chunk::End).is_ok()
    }
}

/// Reads until the buffer is full or the source has ended.
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

/// The other end: a stream again, digested as it is read.
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
    /// Whether the sender gave up.
    pub(crate) fn was_cut(&self) -> bool {
        self.state == State::Cut
    }

    /// The digest of all that was read.
    pub(crate) fn digest(self) -> Digest {
        self.hasher.0.finish()
    }

    /// Goes on with the next chunk; the one that was read goes back to be filled again.
    fn turn_to(&mut self, chunk: Vec<u8>) {
        self.hasher.0.update(&chunk);
        let read = std::mem::replace(&mut self.current, io::Cursor::new(chunk));
        // A sender that has sent all needs no more chunks.
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
    use super::*;

    #[test]
    fn a_stream_passes_whole_and_digested() {
        let bytes: Vec<u8> = (0..700_000_u32).flat_map(u32::to_le_bytes).collect();
        let (sender, mut reader) = chunk_stream();
        let mut out = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // What was at the end of a chunk before is not there again.
                assert!(sender.send_all(&mut &bytes[..]).expect("sent"));
                assert!(sender.send_all(&mut &bytes[..7]).expect("sent"));
                assert!(sender.end());
            });
            reader.read_to_end(&mut out).expect("read");
        });
        let expected = [&bytes[..], &bytes[..7]].concat();
        assert!(out == expected);
        assert_eq!(reader.digest(), Digest::of(&expected));
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
