//! Damage to the file: three reads, then an error that names the file and the block.

use std::sync::{Arc, Mutex};

use fstree::ReadAt as _;
use verified_file::{FAILURES_MAX, LengthError, READS, ReadError, VerifiedFile};

use crate::{TestFile, bytes_of, tree_of};

#[test]
fn a_flipped_bit_in_each_block_is_never_handed_out() {
    let bytes = bytes_of(2 * 65_536 + 5000);
    let file = TestFile::new(&bytes);
    let verified = VerifiedFile::new("layer a", &file, tree_of(&bytes)).expect("the length");
    for block in 0..bytes.len().div_ceil(4096) {
        let at = (block * 4096 + 77 * block % 4096).min(bytes.len() - 1);
        file.change(|bytes| bytes[at] ^= 4);
        let mut buffer = vec![9; bytes.len()];
        let failure = verified.read_exact_at(&mut buffer, 0).expect_err("damaged");
        let offset = at / 4096 * 4096;
        let expected = format!(
            "layer a is corrupt: the block at byte {offset} is not the one that was written"
        );
        assert_eq!(failure.to_string(), expected);
        assert_eq!(
            buffer[..offset],
            bytes[..offset],
            "the blocks before are right"
        );
        let end = bytes.len().min(offset + 4096);
        assert!(buffer[offset..end].iter().all(|byte| *byte == 0));
        // The other blocks of its group can be read.
        for (other, expected) in bytes.chunks(4096).enumerate() {
            let mut buffer = vec![0; expected.len()];
            let offset = u64::try_from(other * 4096).expect("short");
            let read = verified.read_exact_at(&mut buffer, offset);
            assert_eq!(read.is_ok(), other != block);
            assert!(other == block || buffer == expected);
        }
        file.change(|bytes| bytes[at] ^= 4);
    }
}

#[test]
fn a_block_is_read_three_times() {
    let bytes = bytes_of(20_000);
    for wrong in 0..=READS {
        let file = TestFile::wrong_at_first(&bytes, wrong);
        let verified = VerifiedFile::new("a", &file, tree_of(&bytes)).expect("the length");
        let mut buffer = [0; 4096];
        let read = verified.read_exact_at(&mut buffer, 8192);
        assert_eq!(read.is_ok(), wrong < READS, "{wrong} wrong reads");
        assert_eq!(file.reads(), READS.min(wrong + 1));
    }
}

#[test]
fn a_file_of_another_length_is_refused_and_one_that_is_cut_later_fails() {
    let bytes = bytes_of(20_000);
    let short = VerifiedFile::new("a", bytes[..19_999].to_vec(), tree_of(&bytes));
    let failure = short.expect_err("short").into_inner().expect("a cause");
    assert_eq!(
        failure
            .downcast_ref::<LengthError>()
            .map(|length| length.actual_bytes),
        Some(19_999)
    );
    let long = [&bytes[..], &[0]].concat();
    assert!(VerifiedFile::new("a", long, tree_of(&bytes)).is_err());

    let file = TestFile::new(&bytes);
    let verified = VerifiedFile::new("a", &file, tree_of(&bytes)).expect("the length");
    file.change(|bytes| bytes.truncate(10_000));
    let mut buffer = vec![0; 20_000];
    let failure = verified.read_exact_at(&mut buffer, 0).expect_err("cut");
    assert!(failure.to_string().contains("byte 8192"), "{failure}");
    assert!(buffer[..8192] == bytes[..8192]);
}

#[test]
fn each_block_is_reported_once_and_their_number_is_bounded() {
    let bytes = bytes_of(200 * 4096);
    let lines: Arc<Mutex<Vec<u64>>> = Arc::default();
    let log = Arc::clone(&lines);
    let verified =
        VerifiedFile::new("a", vec![0; bytes.len()], tree_of(&bytes)).expect("the length");
    let verified = verified.with_log(move |failure: &ReadError| {
        log.lock().expect("no panic").push(failure.offset_bytes());
    });
    for _ in 0..3 {
        for block in 0..200 {
            let mut buffer = [0; 4096];
            assert!(verified.read_exact_at(&mut buffer, block * 4096).is_err());
        }
    }
    let expected: Vec<u64> = (0..200)
        .map(|block| block * 4096)
        .take(FAILURES_MAX)
        .collect();
    assert_eq!(*lines.lock().expect("no panic"), expected);
}
