use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use artifact_cache::{Artifact, FetchUnit, ReadError};
use packed_file::GROUP_BYTES;
use proptest::prelude::*;

use crate::cache::{Answer, Blocks, Handle, Lines, Memory, Plain, assert_is, packed, plain};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the cache file has, a read gives the right bytes, and leaves them there.
    #[test]
    fn reads_are_right_over_any_cache_file(
        length in prop_oneof![1_usize..10_000, 60_000_usize..70_000, 1_usize..2_500_000],
        present in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..200_000), 0..4),
        garbage in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..20_000), 0..4),
        ranges in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..150_000), 1..12),
        has_blocks in any::<bool>(),
        is_large in any::<bool>(),
    ) {
        let plain = Arc::new(plain(length));
        let mut bytes = vec![0; length];
        for (start, count) in present {
            let range = start.index(length)..(start.index(length) + count).min(length);
            bytes[range.clone()].copy_from_slice(&plain[range]);
        }
        for (start, count) in garbage {
            let range = start.index(length)..(start.index(length) + count).min(length);
            bytes[range].fill(0xa5);
        }
        let cache = Memory::with(bytes);
        let source = Plain::new("the source", &plain, Answer::Right);
        let artifact = if has_blocks {
            Artifact::new("layer", Handle(cache.clone()), Blocks(plain.clone()))
        } else {
            Artifact::new("layer", Handle(cache.clone()), packed(&plain))
        };
        let unit = if is_large { FetchUnit::Mebibyte } else { FetchUnit::Group };
        let artifact = artifact.with_source(source).with_unit(unit);
        for (start, count) in ranges {
            let range = start.index(length)..(start.index(length) + count).min(length);
            let mut found = vec![7; range.len()];
            artifact.read(&mut found, range.start as u64).unwrap();
            prop_assert!(found == plain[range.clone()]);
            prop_assert!(cache.bytes()[range.clone()] == plain[range]);
        }
        let counts = artifact.counts();
        prop_assert_eq!((counts.reads_failed, counts.wrong_answers, counts.failed_writes), (0, 0, 0));
    }
}

#[test]
fn a_complete_file_is_read_once_for_each_read_and_needs_no_source() {
    let plain = Arc::new(plain(1_000_001));
    let cache = Memory::with(plain.to_vec());
    let artifact = Artifact::new("layer", Handle(cache.clone()), Blocks(plain.clone()));
    assert_is(&artifact, &plain, 4096);
    assert_eq!(cache.reads.load(Ordering::Relaxed), 245);
    assert_eq!(cache.writes(), 0);
    assert_is(&artifact, &plain, 777);
    assert_is(&artifact, &plain, 300_000);
}

#[test]
fn a_flipped_bit_without_a_source_is_an_error_and_one_line() {
    let plain = Arc::new(plain(200_000));
    let (cache, lines) = (Memory::with(plain.to_vec()), Lines::default());
    let artifact = Artifact::new("layer a1", Handle(cache.clone()), Blocks(plain.clone()));
    let artifact = artifact.with_log(lines.log());
    for block in 0..plain.len().div_ceil(4096) {
        cache.flip(block * 4096 + 13);
        let mut found = [7; 10];
        let offset_bytes = block as u64 * 4096 + 50;
        let error = artifact.read(&mut found, offset_bytes).unwrap_err();
        assert_eq!(found, [7; 10]);
        assert!(matches!(error, ReadError::Unreadable { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains(&format!("{offset_bytes} of layer a1")),
            "{error}"
        );
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
        artifact.read(&mut found, offset_bytes).unwrap_err();
        cache.flip(block * 4096 + 13);
        artifact.read(&mut found, offset_bytes).unwrap();
        assert_eq!(found, plain[offset_bytes as usize..][..10]);
    }
    // One for each unit of 64 KiB.
    let lines = lines.all();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines[1].starts_with("cannot read layer a1 at byte 65536: "),
        "{lines:?}"
    );
}

#[test]
fn bytes_that_differ_are_read_three_times_before_the_error() {
    let plain = Arc::new(plain(65_536));
    let cache = Memory::with(plain.to_vec());
    cache.flip(0);
    let artifact = Artifact::new("layer", Handle(cache.clone()), Blocks(plain));
    artifact.read(&mut [0; 4096], 0).unwrap_err();
    // And once for all threads that wait.
    assert_eq!(cache.reads.load(Ordering::Relaxed), 3 + 1);
    assert_eq!(artifact.counts().cache_faults, 1);
}

#[test]
fn a_flipped_bit_with_a_source_is_mended() {
    let plain = Arc::new(plain(500_000));
    let cache = Memory::with(plain.to_vec());
    let artifact = Artifact::new("layer", Handle(cache.clone()), packed(&plain));
    let artifact = artifact.with_source(packed(&plain));
    for group in 0..plain.len().div_ceil(GROUP_BYTES) {
        cache.flip(group * GROUP_BYTES + 13);
        let mut found = [7; 4];
        artifact
            .read(&mut found, (group * GROUP_BYTES + 4096) as u64)
            .unwrap();
        assert_eq!(found, plain[group * GROUP_BYTES + 4096..][..4]);
        assert!(cache.bytes() == *plain);
    }
}

#[test]
fn a_cache_file_that_was_cut_is_filled_again() {
    let plain = Arc::new(plain(300_000));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    std::fs::write(&path, &plain[..100_000]).unwrap();
    let cache = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let artifact = Artifact::new("layer", cache, Blocks(plain.clone()));
    artifact.read(&mut [0; 10], 150_000).unwrap_err();
    let artifact = artifact.with_source(packed(&plain));
    assert_is(&artifact, &plain, 5000);
    assert!(std::fs::read(&path).unwrap() == *plain);
}

#[test]
fn ranges_beyond_the_end_are_refused() {
    let plain = Arc::new(plain(100));
    let artifact = Artifact::new("layer", Handle(Memory::with(plain.to_vec())), Blocks(plain));
    for (offset_bytes, length) in [(0, 101), (100, 1), (101, 0), (u64::MAX, 2)] {
        let error = artifact
            .read(&mut vec![0; length], offset_bytes)
            .unwrap_err();
        assert!(
            matches!(
                error,
                ReadError::OutOfRange {
                    size_bytes: 100,
                    ..
                }
            ),
            "{error}"
        );
    }
    artifact.read(&mut [], 100).unwrap();
    artifact.read(&mut [0; 100], 0).unwrap();
}

#[test]
fn an_empty_artifact_has_no_bytes() {
    let artifact = Artifact::new("layer", Handle(Memory::new(0)), packed(&[]));
    artifact.read(&mut [], 0).unwrap();
    artifact.read(&mut [0], 0).unwrap_err();
}
