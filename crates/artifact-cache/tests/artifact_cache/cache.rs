//! A cache file in memory, a source with faults, and the content of both.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use artifact_cache::{CacheFile, Proof, Source};
use packed_file::{GROUP_BYTES, PackedFile, pack};

/// Returns a plain file of this length: noise, with zeros in every fifth group.
pub(crate) fn plain(length: usize) -> Vec<u8> {
    let mut plain = vec![0; length];
    blake3::Hasher::new()
        .update(b"plain")
        .finalize_xof()
        .fill(&mut plain);
    for group in plain.chunks_mut(GROUP_BYTES).skip(3).step_by(5) {
        group.fill(0);
    }
    plain
}

/// Returns the packed file of a plain one.
pub(crate) fn packed(plain: &[u8]) -> Arc<PackedFile<Vec<u8>>> {
    let mut bytes = Vec::new();
    let checksum = pack(plain, &mut bytes)
        .expect("memory does not fail")
        .checksum;
    Arc::new(PackedFile::open(bytes, Some(&checksum)).expect("it was just packed"))
}

/// Proves blocks of 4 KiB, as a tree of such blocks does: by comparison.
pub(crate) struct Blocks(pub(crate) Arc<Vec<u8>>);

impl Proof for Blocks {
    fn size_bytes(&self) -> u64 {
        self.0.len() as u64
    }
    fn block_bytes(&self) -> u64 {
        4096
    }
    fn proves(&self, offset_bytes: u64, bytes: &[u8]) -> bool {
        let end_bytes = offset_bytes + bytes.len() as u64;
        assert!(offset_bytes.is_multiple_of(4096) && !bytes.is_empty());
        assert!(end_bytes.is_multiple_of(4096) || end_bytes == self.size_bytes());
        self.0[offset_bytes as usize..end_bytes as usize] == *bytes
    }
}

/// The fate of writes to a cache file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writes {
    Kept,
    /// The disk is full after half of each write.
    Full,
    /// From this write on nothing arrives; of the one before the first half does. No error is reported.
    LostFrom(usize),
}

/// A cache file in memory, which begins as one hole.
pub(crate) struct Memory {
    bytes: Mutex<Vec<u8>>,
    writes: Mutex<(Writes, usize)>,
    pub(crate) reads: AtomicUsize,
}

impl Memory {
    pub(crate) fn new(length: usize) -> Arc<Self> {
        Self::with(vec![0; length])
    }

    pub(crate) fn with(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self {
            bytes: Mutex::new(bytes),
            writes: Mutex::new((Writes::Kept, 0)),
            reads: AtomicUsize::new(0),
        })
    }

    pub(crate) fn set(&self, writes: Writes) {
        *self.writes.lock().expect("no thread has panicked") = (writes, 0);
    }

    /// Returns the number of writes since the last [`Memory::set`].
    pub(crate) fn writes(&self) -> usize {
        self.writes.lock().expect("no thread has panicked").1
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().expect("no thread has panicked").clone()
    }

    pub(crate) fn flip(&self, offset: usize) {
        self.bytes.lock().expect("no thread has panicked")[offset] ^= 1;
    }
}

/// A handle of a cache file in memory.
pub(crate) struct Handle(pub(crate) Arc<Memory>);

impl CacheFile for Handle {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.0.reads.fetch_add(1, Ordering::Relaxed);
        let offset = offset_bytes as usize;
        // In pieces, so that writes come between them.
        for (piece, at) in buf.chunks_mut(4096).zip((offset..).step_by(4096)) {
            let bytes = self.0.bytes.lock().expect("no thread has panicked");
            let found = bytes.get(at..at + piece.len());
            piece.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        let mut writes = self.0.writes.lock().expect("no thread has panicked");
        let number = writes.1;
        writes.1 += 1;
        let (arriving, result) = match writes.0 {
            Writes::LostFrom(first) if number >= first => (0, Ok(())),
            Writes::LostFrom(first) if number + 1 == first => (bytes.len() / 2, Ok(())),
            Writes::Full => (bytes.len() / 2, Err(io::ErrorKind::StorageFull.into())),
            Writes::Kept | Writes::LostFrom(_) => (bytes.len(), Ok(())),
        };
        drop(writes);
        let offset = offset_bytes as usize;
        for (piece, at) in bytes[..arriving].chunks(1000).zip((offset..).step_by(1000)) {
            self.0.bytes.lock().expect("no thread has panicked")[at..at + piece.len()]
                .copy_from_slice(piece);
        }
        result
    }

    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let range = offset_bytes as usize..(offset_bytes + length_bytes) as usize;
        self.0.bytes.lock().expect("no thread has panicked")[range].fill(0);
        Ok(())
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        let bytes = self.0.bytes.lock().expect("no thread has panicked");
        let blocks = bytes
            .chunks(4096)
            .filter(|block| block.iter().any(|byte| *byte != 0));
        Ok(4096 * blocks.count() as u64)
    }
}

/// The answer of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Right,
    /// One bit is flipped, in the first group.
    Wrong,
    /// Only the first group is there.
    Short,
    Error,
}

/// A source in memory, which counts how often it is asked for each 64 KiB.
pub(crate) struct Plain {
    pub(crate) name: &'static str,
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) answer: Mutex<Answer>,
    pub(crate) asked: Mutex<Vec<u64>>,
}

impl Plain {
    pub(crate) fn new(name: &'static str, bytes: &Arc<Vec<u8>>, answer: Answer) -> Arc<Self> {
        Arc::new(Self {
            name,
            bytes: Arc::clone(bytes),
            answer: Mutex::new(answer),
            asked: Mutex::default(),
        })
    }

    /// Returns the offsets that the source was asked for, in ascending order.
    pub(crate) fn asked(&self) -> Vec<u64> {
        let mut asked = self.asked.lock().expect("no thread has panicked").clone();
        asked.sort_unstable();
        asked
    }
}

impl Source for Plain {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn fetch(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.asked
            .lock()
            .expect("no thread has panicked")
            .push(offset_bytes);
        let right = &self.bytes[offset_bytes as usize..][..buf.len()];
        match *self.answer.lock().expect("no thread has panicked") {
            Answer::Right => buf.copy_from_slice(right),
            Answer::Wrong => {
                buf.copy_from_slice(right);
                buf[100] ^= 16;
            }
            Answer::Short => {
                let length = buf.len().min(GROUP_BYTES);
                buf[..length].copy_from_slice(&right[..length]);
            }
            Answer::Error => return Err(io::Error::other("the server is away")),
        }
        Ok(())
    }
}

/// The lines of a log.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    pub(crate) fn log(&self) -> impl Fn(&artifact_cache::Notice) + Send + Sync + 'static {
        let lines = self.clone();
        move |notice| {
            lines
                .0
                .lock()
                .expect("no thread has panicked")
                .push(notice.to_string())
        }
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("no thread has panicked").clone()
    }
}

/// Reads a whole artifact in pieces of this length, and compares it.
pub(crate) fn assert_is(artifact: &artifact_cache::Artifact, plain: &[u8], piece_length: usize) {
    for (piece, offset) in plain.chunks(piece_length).zip((0..).step_by(piece_length)) {
        let mut found = vec![7; piece.len()];
        artifact.read(&mut found, offset).expect("a source has it");
        assert!(found == piece, "other bytes at {offset}");
    }
}
