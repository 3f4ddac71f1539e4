use proptest::prelude::*;
use tar_stream::ReadError;
use testkit::{TarBuilder, TarEntry};

use crate::read;

/// Returns an archive with one of everything that a reader parses.
fn sample() -> Vec<u8> {
    let sparse = TarEntry::file("sparse", [b'1'; 40])
        .record("GNU.sparse.numblocks", "1")
        .record("GNU.sparse.map", "10,40")
        .record("GNU.sparse.size", "5000");
    let map = TarEntry::file("map", "1\n0\n4\nabcd")
        .record("GNU.sparse.major", "1")
        .record("GNU.sparse.minor", "0");
    let mut long = TarEntry::new(b'L', "long");
    long.content = b"gnu\0".to_vec();
    TarBuilder::archive([
        sparse,
        map,
        long,
        TarEntry::file("x", "").xattr("user.x", "1").mtime(-1, 5),
        TarEntry::symlink("s", "t"),
        TarEntry::char_device("c", 1, 3),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn changed_archives_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut tar = sample();
        for (index, byte) in &changes {
            let place = index.index(tar.len());
            tar[place] = *byte;
        }
        // The checksums are corrected, so that the change is read.
        for block in tar.as_chunks_mut::<512>().0.iter_mut() {
            if block[257..262] == *b"ustar" {
                TarBuilder::seal(block);
            }
        }
        let _ = read(&tar);
        let _ = read(&tar[..cut.index(tar.len())]);
    }
}

#[test]
fn a_cut_archive_ends_where_it_is_cut() {
    let tar = TarBuilder::archive([TarEntry::file("a", [7; 700]).xattr("user.a", "1")]);
    // The archive has two blocks of PAX, a header, 700 bytes and padding.
    for cut in 1..tar.len() - 1024 {
        match read(&tar[..cut]) {
            Err(ReadError::Truncated { offset_bytes }) => {
                assert_eq!(usize::try_from(offset_bytes), Ok(cut));
            }
            // A header that extends nothing is not an entry; an archive may lack its padding.
            Ok(entries) => assert!(
                entries.is_empty() && (530..=1024).contains(&cut) || cut >= 1536 + 700,
                "cut at {cut}"
            ),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
}
