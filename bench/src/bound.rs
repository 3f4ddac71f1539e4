use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;
use flate2::bufread::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use crate::layout::Blob;

/// The number of layers processed at a time.
const THREADS: usize = 2;
const CHUNK_BYTES: usize = 256 << 10;

/// Reads, hashes, decompresses, hashes and writes every blob: work that no puller can omit.
pub(crate) fn run(blobs: &[Blob], directory: &Path) -> Result<()> {
    let pending = Mutex::new(blobs.iter().enumerate());
    let next = || {
        pending
            .lock()
            .expect("no thread panics with the lock")
            .next()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    while let Some((index, blob)) = next() {
                        convert(blob, &directory.join(index.to_string()))?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("the thread did not panic"))
    })
}

fn convert(blob: &Blob, to: &Path) -> Result<()> {
    let mut hashed = Hashed {
        inner: File::open(&blob.path)?,
        hash: Sha256::new(),
    };
    let mut out = File::create(to)?;
    {
        let mut reader = BufReader::with_capacity(CHUNK_BYTES, &mut hashed);
        let magic = io::BufRead::fill_buf(&mut reader)?;
        let mut plain: Box<dyn Read> = match magic {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(reader)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(reader)?),
            _ => Box::new(reader),
        };
        let mut hash = Sha256::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let length = plain.read(&mut chunk)?;
            if length == 0 {
                break;
            }
            hash.update(&chunk[..length]);
            out.write_all(&chunk[..length])?;
        }
        std::hint::black_box(hash.finalize());
    }
    std::hint::black_box(hashed.hash.finalize());
    Ok(out.sync_all()?)
}

struct Hashed<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.hash.update(&buffer[..length]);
        Ok(length)
    }
}
