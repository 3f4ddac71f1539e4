use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use artifact_cache::{Artifact, FetchUnit, trim};
use packed_file::GROUP_BYTES;

use crate::cache::{Answer, Handle, Memory, Plain, packed, plain};

const THREADS: usize = 16;

#[test]
fn sixteen_threads_fetch_each_unit_once() {
    let plain = Arc::new(plain(3 << 20));
    let source = Plain::new("the source", &plain, Answer::Right);
    let artifact = Artifact::new("layer", Handle(Memory::new(plain.len())), packed(&plain))
        .with_source(source.clone())
        .with_unit(FetchUnit::Mebibyte);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (artifact, plain) = (&artifact, &plain);
            scope.spawn(move || {
                for piece in 0..48 {
                    let start = (piece + 3 * thread) % 48 * GROUP_BYTES + 1000 * thread;
                    let mut found = [0; 3000];
                    artifact.read(&mut found, start as u64).unwrap();
                    assert!(found == plain[start..][..3000]);
                }
            });
        }
    });
    assert_eq!(source.asked(), [0, 1 << 20, 2 << 20]);
}

#[test]
fn readers_see_right_bytes_while_the_cache_is_trimmed_and_decays() {
    let plain = Arc::new(plain(2 << 20));
    let cache = Memory::new(plain.len());
    let artifact = Artifact::new("layer", Handle(cache.clone()), packed(&plain));
    let artifact = artifact.with_source(packed(&plain));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (artifact, plain, is_over) = (&artifact, &plain, &is_over);
        let readers: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    for round in 0..60 {
                        let start = (thread * 104_729 + round * 15_485_863) % (plain.len() - 9000);
                        let mut found = [0; 9000];
                        artifact.read(&mut found, start as u64).unwrap();
                        assert!(found == plain[start..][..9000]);
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            let mut offset = 0;
            while !is_over.load(Ordering::Relaxed) {
                trim(&[artifact], 0).unwrap();
                cache.flip(offset % (2 << 20));
                offset += 77_777;
            }
        });
        for reader in readers {
            reader.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(artifact.counts().reads_failed, 0);
}
