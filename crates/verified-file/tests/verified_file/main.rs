//! Files that are damaged, incomplete, or read from untrusted sources give right bytes or none.

mod damage;
mod ranges;
mod sources;

use std::io::{self, Cursor};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use block_tree::{BlockTree, TreeWriter};
use fstree::ReadAt;

/// Returns bytes that differ from block to block.
fn bytes_of(length: usize) -> Vec<u8> {
    let words = (0_u32..).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes());
    words.take(length).collect()
}

fn tree_of(bytes: &[u8]) -> BlockTree<Vec<u8>> {
    let mut writer = TreeWriter::new(Cursor::new(Vec::new())).expect("memory");
    writer.update(bytes).expect("memory");
    let (sidecar, content) = writer.finish().expect("memory");
    BlockTree::open(sidecar.into_inner(), &content).expect("the right sidecar")
}

/// A file that a test changes while it is read.
#[derive(Debug)]
struct TestFile {
    bytes: Mutex<Vec<u8>>,
    length: usize,
    reads: AtomicUsize,
    /// Number of reads that give wrong bytes first.
    wrong: usize,
}

impl TestFile {
    fn new(bytes: &[u8]) -> Self {
        Self::wrong_at_first(bytes, 0)
    }

    fn wrong_at_first(bytes: &[u8], wrong: usize) -> Self {
        Self {
            bytes: Mutex::new(bytes.to_vec()),
            length: bytes.len(),
            reads: AtomicUsize::new(0),
            wrong,
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.bytes.lock().expect("no panic"));
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

impl ReadAt for &TestFile {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes
            .lock()
            .expect("no panic")
            .read_exact_at(buf, offset_bytes)?;
        if read < self.wrong {
            buf[0] ^= 1;
        }
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.length).expect("short"))
    }
}
