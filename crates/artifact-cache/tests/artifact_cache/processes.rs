//! Two openings of the same files, as two processes have them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use artifact_cache::{Artifact, UnitLocks};
use packed_file::GROUP_BYTES;

use crate::cache::{Answer, Plain, assert_is, packed, plain};

fn open(path: &Path) -> File {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).expect("the directory is writable")
}

#[test]
fn processes_with_locks_fetch_each_unit_once() {
    let plain = Arc::new(plain(20 * GROUP_BYTES));
    let source = Plain::new("the source", &plain, Answer::Right);
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("layer");
    open(&cache).set_len(plain.len() as u64).unwrap();
    let locks = ["0", "1", "2"].map(|name| directory.path().join(name));
    thread::scope(|scope| {
        for _ in 0..4 {
            let locks = Arc::new(UnitLocks::new(locks.iter().map(|path| open(path))));
            let artifact = Artifact::new("layer", open(&cache), packed(&plain))
                .with_source(source.clone())
                .with_locks(locks);
            let plain = &plain;
            scope.spawn(move || assert_is(&artifact, plain, 9000));
        }
    });
    // A group of zeros is proven as a hole.
    let groups = plain.chunks(GROUP_BYTES).zip((0..).step_by(GROUP_BYTES));
    let groups = groups.filter(|(group, _)| group.iter().any(|byte| *byte != 0));
    let offsets: Vec<u64> = groups.map(|(_, offset)| offset).collect();
    assert_eq!(source.asked(), offsets);
    assert!(std::fs::read(cache).unwrap() == *plain);
}

#[test]
fn processes_without_locks_read_as_rightly() {
    let plain = Arc::new(plain(10 * GROUP_BYTES));
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("layer");
    open(&cache).set_len(plain.len() as u64).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let artifact = Artifact::new("layer", open(&cache), packed(&plain));
            let artifact = artifact.with_source(packed(&plain));
            let plain = &plain;
            scope.spawn(move || assert_is(&artifact, plain, 9000));
        }
    });
    assert!(std::fs::read(cache).unwrap() == *plain);
}

#[test]
fn a_cache_file_that_cannot_be_written_is_read() {
    let plain = Arc::new(plain(3 * GROUP_BYTES));
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("layer");
    open(&cache).set_len(plain.len() as u64).unwrap();
    let artifact = Artifact::new("layer", File::open(&cache).unwrap(), packed(&plain));
    let artifact = artifact.with_source(packed(&plain));
    assert_is(&artifact, &plain, 9000);
    assert!(artifact.counts().failed_writes > 0);
}
