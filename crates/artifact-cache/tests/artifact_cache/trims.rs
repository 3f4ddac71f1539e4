use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use artifact_cache::{Artifact, trim};

use crate::cache::{Handle, Memory, assert_is, packed};

/// Returns noise: a cache file of it has no holes.
fn noise(length: usize) -> Arc<Vec<u8>> {
    let mut noise = vec![0; length];
    blake3::Hasher::new()
        .update(b"noise")
        .finalize_xof()
        .fill(&mut noise);
    Arc::new(noise)
}

#[test]
fn the_parts_that_were_not_used_for_the_longest_time_are_freed() {
    let plain = noise(4 << 20);
    let cache = Memory::new(plain.len());
    let artifact = Artifact::new("layer", Handle(cache.clone()), packed(&plain));
    let artifact = artifact.with_source(packed(&plain));
    artifact.recency().advance_to(5);
    assert_is(&artifact, &plain, 1 << 20);
    for (now, part) in [(6, 2), (7, 0), (8, 3)] {
        artifact.recency().advance_to(now);
        artifact.read(&mut [0; 10], part << 20).unwrap();
    }
    let trimmed = trim(&[&artifact], 4 << 20).unwrap();
    assert_eq!((trimmed.allocated_bytes, trimmed.freed_bytes), (4 << 20, 0));
    // The order of use is that of the parts 1, 2, 0, 3.
    for (limit_bytes, left) in [
        (3 << 20, [1, 0, 1, 1]),
        ((2 << 20) - 1, [0, 0, 0, 1]),
        (0, [0; 4]),
    ] {
        let trimmed = trim(&[&artifact], limit_bytes).unwrap();
        assert!(trimmed.allocated_bytes <= limit_bytes);
        let bytes = cache.bytes();
        let found: Vec<_> = bytes
            .chunks(1 << 20)
            .map(|part| u8::from(part[0] != 0))
            .collect();
        assert_eq!(found, left, "{limit_bytes}");
    }
    assert_is(&artifact, &plain, 50_000);
}

#[test]
fn an_artifact_without_a_source_is_never_freed() {
    let plain = noise(1 << 20);
    let (whole, cached) = (Memory::with(plain.to_vec()), Memory::with(plain.to_vec()));
    let whole_artifact = Artifact::new("whole", Handle(whole.clone()), packed(&plain));
    let artifact = Artifact::new("cached", Handle(cached.clone()), packed(&plain));
    let artifact = artifact.with_source(packed(&plain));
    let trimmed = trim(&[&whole_artifact, &artifact], 0).unwrap();
    assert_eq!(
        (trimmed.allocated_bytes, trimmed.freed_bytes),
        (1 << 20, 1 << 20)
    );
    assert!(whole.bytes() == *plain);
    assert!(cached.bytes().iter().all(|byte| *byte == 0));
}

#[test]
fn the_times_of_use_outlive_a_process() {
    let plain = noise(2 << 20);
    let cache = Memory::with(plain.to_vec());
    let open = || {
        let artifact = Artifact::new("layer", Handle(cache.clone()), packed(&plain));
        artifact.with_source(packed(&plain))
    };
    let earlier = open();
    earlier.recency().advance_to(100);
    earlier.read(&mut [0; 10], 0).unwrap();
    let kept = earlier.recency().to_bytes();
    let later = open();
    later.recency().merge(&kept);
    trim(&[&later], 1 << 20).unwrap();
    assert!(cache.bytes()[..1 << 20] == plain[..1 << 20]);
    assert!(cache.bytes()[1 << 20..].iter().all(|byte| *byte == 0));
}

#[test]
fn space_of_the_host_is_freed() {
    fn open(path: &Path) -> File {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        options.open(path).unwrap()
    }
    let plain = noise(3 << 20);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    open(&path).set_len(plain.len() as u64).unwrap();
    let artifact = Artifact::new("layer", open(&path), packed(&plain));
    let artifact = artifact.with_source(packed(&plain));
    let space = || durable_files::allocated_bytes(&std::fs::metadata(&path).unwrap());
    assert!(space() < 1 << 20);
    assert_is(&artifact, &plain, 1 << 20);
    assert!(space() >= 3 << 20);
    let trimmed = trim(&[&artifact], 1 << 20).unwrap();
    assert!(trimmed.allocated_bytes <= 1 << 20 && space() <= 1 << 20);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), plain.len() as u64);
    assert_is(&artifact, &plain, 1 << 20);
}
