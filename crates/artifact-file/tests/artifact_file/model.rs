//! A packed artifact whose cache file others change, compared with its plain bytes.

use std::fs::{self, File};

use artifact_file::{Verify, cache_path};
use fstree::ReadAt as _;
use proptest::prelude::*;

use crate::{Stored, bytes, flip};

const LENGTH: usize = 200_000;

#[derive(Debug, Clone)]
enum Step {
    Read { offset: usize, length: usize },
    FlipCache { at: usize },
    EmptyCache,
    RemoveCache,
    CutCache { length: usize },
    Reopen { verify: Verify },
    Pack,
    Unpack,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verify = prop_oneof![
        Just(Verify::Owner),
        Just(Verify::TreeIfPresent),
        Just(Verify::Tree)
    ];
    let step = prop_oneof![
        6 => (0..LENGTH, 0..LENGTH).prop_map(|(offset, length)| Step::Read { offset, length }),
        3 => (0..LENGTH).prop_map(|at| Step::FlipCache { at }),
        1 => Just(Step::EmptyCache),
        1 => Just(Step::RemoveCache),
        1 => (0..LENGTH).prop_map(|length| Step::CutCache { length }),
        2 => verify.prop_map(|verify| Step::Reopen { verify }),
        1 => Just(Step::Pack),
        1 => Just(Step::Unpack),
    ];
    prop::collection::vec(step, 1..40)
}

/// Sets the length of the cache file, if it exists, to these ones in turn.
fn set_cache_lengths(stored: &Stored, lengths: &[usize]) {
    if let Ok(cache) = File::options().write(true).open(cache_path(&stored.path)) {
        for length in lengths {
            let length_bytes = u64::try_from(*length).expect("small");
            cache.set_len(length_bytes).expect("set");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_read_gives_the_plain_bytes(steps in steps()) {
        let stored = Stored::new(bytes(LENGTH));
        stored.pack();
        let mut is_packed = true;
        let mut file = stored.open(Verify::Tree).expect("packed");
        for step in steps {
            match step {
                Step::Read { offset, length } => {
                    let length = length.min(LENGTH - offset);
                    let mut read = vec![7; length];
                    file.read_exact_at(&mut read, u64::try_from(offset).expect("small"))
                        .expect("read");
                    prop_assert!(read == stored.plain[offset..offset + length]);
                }
                Step::FlipCache { at } => {
                    if fs::metadata(cache_path(&stored.path)).is_ok_and(|file| file.len() > 0) {
                        flip(&cache_path(&stored.path), at);
                    }
                }
                Step::EmptyCache => set_cache_lengths(&stored, &[0, LENGTH]),
                Step::RemoveCache => drop(fs::remove_file(cache_path(&stored.path))),
                Step::CutCache { length } => set_cache_lengths(&stored, &[length]),
                Step::Reopen { verify } => file = stored.open(verify).expect("opened"),
                Step::Pack if !is_packed => {
                    stored.pack();
                    is_packed = true;
                }
                Step::Unpack if is_packed => {
                    stored.unpack();
                    is_packed = false;
                }
                Step::Pack | Step::Unpack => {}
            }
        }
    }
}
