//! Reads of any range give the bytes of the file.

use fstree::ReadAt as _;
use proptest::prelude::*;
use verified_file::VerifiedFile;

use crate::{bytes_of, tree_of};

#[test]
fn ranges_around_blocks_are_those_of_the_file() {
    let bytes = bytes_of(66_000);
    let verified = VerifiedFile::new("a", bytes.clone(), tree_of(&bytes)).expect("the length");
    let edges = [
        0, 1, 511, 512, 4095, 4096, 4097, 8191, 8192, 65_535, 65_536, 65_537, 65_999, 66_000,
    ];
    for from in edges {
        for to in edges.into_iter().filter(|to| *to >= from) {
            let mut buffer = vec![0; to - from];
            let offset = u64::try_from(from).expect("short");
            verified
                .read_exact_at(&mut buffer, offset)
                .expect("the range");
            assert!(buffer == bytes[from..to], "{from}..{to}");
        }
    }
}

#[test]
fn a_range_past_the_end_is_refused() {
    let bytes = bytes_of(5000);
    let verified = VerifiedFile::new("a", bytes.clone(), tree_of(&bytes)).expect("the length");
    assert_eq!(verified.size_bytes().expect("known"), 5000);
    for (offset, length) in [(5000, 1), (4999, 2), (0, 5001), (u64::MAX, 1), (1 << 40, 1)] {
        let mut buffer = vec![0; length];
        let refused = verified
            .read_exact_at(&mut buffer, offset)
            .expect_err("past the end");
        assert_eq!(refused.kind(), std::io::ErrorKind::UnexpectedEof);
    }
    verified.read_exact_at(&mut [], 5000).expect("nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_ranges_of_damaged_files_are_right_or_refused(
        length in 1_usize..200_000,
        from in any::<prop::sample::Index>(),
        count in 1_usize..150_000,
        flips in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let bytes = bytes_of(length);
        let mut damaged = bytes.clone();
        let mut blocks = Vec::new();
        for flip in flips {
            let at = flip.index(length);
            damaged[at] = bytes[at] ^ 1;
            blocks.push(at / 4096);
        }
        let verified = VerifiedFile::new("a", damaged, tree_of(&bytes)).expect("the length");
        let from = from.index(length);
        let to = (from + count).min(length);
        let mut buffer = vec![0; to - from];
        let read = verified.read_exact_at(&mut buffer, u64::try_from(from).expect("short"));
        let is_touched = blocks.iter().any(|block| (from / 4096..=(to - 1) / 4096).contains(block));
        prop_assert_eq!(read.is_err(), is_touched);
        prop_assert!(is_touched || buffer == bytes[from..to]);
    }
}
