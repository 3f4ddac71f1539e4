use std::collections::BTreeMap;

use crate::block::{Run, in_memory};

const CHUNK_BLOCKS: u64 = 4096;
const WORD_BITS: u64 = 64;

/// A set of block numbers, as one bit for each block of the regions that have any.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockSet {
    chunks: BTreeMap<u64, Chunk>,
}

/// The bits of 4,096 blocks. A discard of a whole disk must not cost memory for each of its blocks.
#[derive(Debug, Clone)]
enum Chunk {
    Full,
    Mixed(Box<[u64; 64]>),
}

impl BlockSet {
    pub(crate) fn from_runs(runs: impl IntoIterator<Item = Run>) -> Self {
        let mut set = Self::default();
        for run in runs {
            set.insert(run);
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(crate) fn insert(&mut self, run: Run) {
        for part in run.chunks(CHUNK_BLOCKS) {
            let index = part.first / CHUNK_BLOCKS;
            if part.count == CHUNK_BLOCKS {
                self.chunks.insert(index, Chunk::Full);
                continue;
            }
            let chunk = self.chunks.entry(index);
            let chunk = chunk.or_insert_with(|| Chunk::Mixed(Box::new([0; 64])));
            let Chunk::Mixed(words) = chunk else {
                continue;
            };
            for_each_word(part, |word, mask| words[word] |= mask);
            if words.iter().all(|word| *word == u64::MAX) {
                *chunk = Chunk::Full;
            }
        }
    }

    pub(crate) fn remove(&mut self, run: Run) {
        for part in run.chunks(CHUNK_BLOCKS) {
            let index = part.first / CHUNK_BLOCKS;
            let Some(chunk) = self.chunks.get_mut(&index) else {
                continue;
            };
            if let Chunk::Full = chunk {
                *chunk = Chunk::Mixed(Box::new([u64::MAX; 64]));
            }
            let Chunk::Mixed(words) = chunk else {
                continue;
            };
            for_each_word(part, |word, mask| words[word] &= !mask);
            if words.iter().all(|word| *word == 0) {
                self.chunks.remove(&index);
            }
        }
    }

    pub(crate) fn insert_all(&mut self, other: &Self) {
        for run in other.runs() {
            self.insert(run);
        }
    }

    pub(crate) fn remove_all(&mut self, other: &Self) {
        for run in other.runs() {
            self.remove(run);
        }
    }

    /// Returns the longest runs of the set, in ascending order.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut push = |run: Run| match runs.last_mut() {
            Some(last) if last.end() == run.first => last.count += run.count,
            _ => runs.push(run),
        };
        for (index, chunk) in &self.chunks {
            let start = index * CHUNK_BLOCKS;
            match chunk {
                Chunk::Full => push(Run::new(start, CHUNK_BLOCKS)),
                Chunk::Mixed(words) => {
                    for (word, first) in words.iter().zip((start..).step_by(64)) {
                        for_each_run_of_ones(*word, |bit, count| {
                            push(Run::new(first + bit, count))
                        });
                    }
                }
            }
        }
        runs
    }
}

/// Calls `change` with the index and the mask of each word that has a block of `part`, which lies in
/// one chunk.
fn for_each_word(part: Run, mut change: impl FnMut(usize, u64)) {
    let within = Run::new(part.first % CHUNK_BLOCKS, part.count);
    for word in within.chunks(WORD_BITS) {
        let ones = u64::MAX >> (WORD_BITS - word.count);
        change(
            in_memory(word.first / WORD_BITS),
            ones << (word.first % WORD_BITS),
        );
    }
}

/// Calls `found` with the first bit and the length of each run of ones.
fn for_each_run_of_ones(word: u64, mut found: impl FnMut(u64, u64)) {
    let mut rest = word;
    let mut bit = 0;
    while rest != 0 {
        let zeros = rest.trailing_zeros();
        rest >>= zeros;
        let ones = rest.trailing_ones();
        found(bit + u64::from(zeros), u64::from(ones));
        bit += u64::from(zeros + ones);
        rest = rest.checked_shr(ones).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_has_the_blocks_that_were_inserted_and_not_removed(
            steps in prop::collection::vec((any::<bool>(), 0_u64..9000, 1_u64..5000), 1..30),
        ) {
            let mut set = BlockSet::default();
            let mut model = BTreeSet::new();
            for (is_insert, first, count) in steps {
                let run = Run::new(first, count);
                if is_insert {
                    set.insert(run);
                    model.extend(first..run.end());
                } else {
                    set.remove(run);
                    model.retain(|block| !(first..run.end()).contains(block));
                }
            }
            let runs = set.runs();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end() < pair[1].first));
            let blocks: Vec<u64> = runs.iter().flat_map(|run| run.first..run.end()).collect();
            prop_assert_eq!(blocks, model.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(set.is_empty(), runs.is_empty());
        }
    }
}
