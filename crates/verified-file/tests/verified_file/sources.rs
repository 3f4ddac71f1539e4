//! Sources are asked in their order, and need not be trusted.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fstree::ReadAt as _;
use verified_file::{READS, Source, VerifiedFile};

use crate::{TestFile, bytes_of, tree_of};

/// A source with these bytes, which counts what it is asked for.
struct Bytes {
    bytes: Vec<u8>,
    asked: Arc<AtomicUsize>,
}

impl Bytes {
    fn new(bytes: &[u8]) -> (Self, Arc<AtomicUsize>) {
        let asked = Arc::<AtomicUsize>::default();
        let source = Self {
            bytes: bytes.to_vec(),
            asked: Arc::clone(&asked),
        };
        (source, asked)
    }
}

impl Source for Bytes {
    fn fetch(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.bytes.read_exact_at(buf, offset_bytes)
    }
}

#[test]
fn holes_are_filled_from_a_source() {
    let bytes = bytes_of(70_000);
    let mut holes = bytes.clone();
    for block in [0, 3, 4, 16, 17] {
        holes[block * 4096..(block * 4096 + 4096).min(70_000)].fill(0);
    }
    let (source, asked) = Bytes::new(&bytes);
    let verified = VerifiedFile::new("a", holes, tree_of(&bytes)).expect("the length");
    let verified = verified.with_source(source);
    let mut buffer = vec![0; 70_000];
    verified.read_exact_at(&mut buffer, 0).expect("filled");
    assert!(buffer == bytes);
    assert_eq!(asked.load(Ordering::Relaxed), 5);
}

#[test]
fn a_source_that_lies_or_fails_is_passed_over() {
    let bytes = bytes_of(70_000);
    let mut wrong = bytes.clone();
    wrong[5000] ^= 1;
    let (lying, lied) = Bytes::new(&wrong);
    let (failing, failed) = Bytes::new(&bytes[..100]);
    let (right, asked) = Bytes::new(&bytes);
    let verified = VerifiedFile::new("a", wrong.clone(), tree_of(&bytes)).expect("the length");
    let verified = verified.with_source(lying).with_source(failing);
    let mut buffer = vec![0; 10];
    let refused = verified.read_exact_at(&mut buffer, 4990).expect_err("lies");
    assert!(refused.to_string().contains("byte 4096"), "{refused}");
    assert_eq!(buffer, [0; 10]);
    let verified = verified.with_source(right);
    verified
        .read_exact_at(&mut buffer, 4990)
        .expect("the third");
    assert_eq!(buffer, bytes[4990..5000]);
    let counts = [lied, failed, asked].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [2, 2, 1]);
}

#[test]
fn a_whole_file_asks_no_source() {
    let bytes = bytes_of(70_000);
    let (source, asked) = Bytes::new(&bytes);
    let file = TestFile::wrong_at_first(&bytes, READS - 1);
    let verified = VerifiedFile::new("a", &file, tree_of(&bytes)).expect("the length");
    let verified = verified.with_source(source);
    let mut buffer = vec![0; 70_000];
    verified
        .read_exact_at(&mut buffer, 0)
        .expect("right in the end");
    assert!(buffer == bytes);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}
