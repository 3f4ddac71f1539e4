//! The operations that workloads are made of.

use std::fs::{self, DirEntry, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, anyhow};

use crate::samples::Samples;

/// The number of threads of concurrent workloads.
pub(super) const THREADS: usize = 4;

/// Lists every directory below a root and stats every entry. Each is an operation.
pub(super) fn scan(root: &Path, samples: &mut Samples) {
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in samples.operation(|| list(&directory)).unwrap_or_default() {
            let metadata = samples.operation(|| entry.metadata());
            if metadata.is_some_and(|metadata| metadata.is_dir()) {
                open.push(entry.path());
            }
        }
    }
}

/// Returns a directory's entries.
pub(super) fn list(directory: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(directory)?.collect()
}

/// Opens, reads and closes each file, as one operation.
pub(super) fn read_each<'a>(files: impl IntoIterator<Item = &'a PathBuf>, samples: &mut Samples) {
    let mut buffer = Vec::new();
    for file in files {
        samples.operation(|| read(file, &mut buffer));
    }
}

fn read(file: &Path, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.clear();
    File::open(file)?.read_to_end(buffer)
}

/// Creates a file with this content.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    File::create(path)?.write_all(bytes)
}

/// Writes a file of `pieces` times `piece`, unless it already exists in this size.
pub(super) fn fill(path: &Path, pieces: u64, piece: &[u8]) -> io::Result<()> {
    let size_bytes = pieces * piece.len() as u64;
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == size_bytes) {
        return Ok(());
    }
    let mut file = File::create(path)?;
    for _ in 0..pieces {
        file.write_all(piece)?;
    }
    file.sync_all()
}

/// Runs `work` in several threads at once. Each gets its number.
pub(super) fn at_once(
    samples: &mut Samples,
    work: impl Fn(usize, &mut Samples) + Sync,
) -> Result<()> {
    let work = &work;
    let measured: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                scope.spawn(move || {
                    let mut samples = Samples::default();
                    work(number, &mut samples);
                    samples
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    for of_thread in measured {
        samples.append(of_thread.map_err(|_| anyhow!("a thread panicked"))?);
    }
    Ok(())
}
