use crate::block::{Run, in_memory};

const CHUNK_BLOCKS: u64 = 4096;
const CHUNK_LENGTH: usize = 4096;

/// The number of a generation in a map: its place in the table of open files, from 1.
pub(crate) type Slot = u16;
/// The slot of blocks that read as zeros.
pub(crate) const ZEROS: Slot = 0;

/// The map of a disk: for each block the generation that has it. Its cost does not depend on the
/// number of generations.
#[derive(Debug)]
pub(crate) struct BlockMap {
    chunks: Vec<Chunk>,
}

/// The slots of 4,096 blocks. Most disks are sparse, so most chunks have one slot.
#[derive(Debug)]
enum Chunk {
    Uniform(Slot),
    Mixed(Box<[Slot; CHUNK_LENGTH]>),
}

impl BlockMap {
    /// Makes the map of a disk of zeros.
    pub(crate) fn new(blocks: u64) -> Self {
        let mut map = Self { chunks: Vec::new() };
        map.grow(blocks);
        map
    }

    /// Appends blocks of zeros until the disk has `blocks`.
    pub(crate) fn grow(&mut self, blocks: u64) {
        let chunks = in_memory(blocks.div_ceil(CHUNK_BLOCKS));
        while self.chunks.len() < chunks {
            self.chunks.push(Chunk::Uniform(ZEROS));
        }
    }

    /// Returns the slot of a block of the disk.
    pub(crate) fn slot(&self, block: u64) -> Slot {
        match &self.chunks[in_memory(block / CHUNK_BLOCKS)] {
            Chunk::Uniform(slot) => *slot,
            Chunk::Mixed(slots) => slots[in_memory(block % CHUNK_BLOCKS)],
        }
    }

    /// Sets the slot of blocks of the disk.
    pub(crate) fn assign(&mut self, run: Run, slot: Slot) {
        for part in run.chunks(CHUNK_BLOCKS) {
            let chunk = &mut self.chunks[in_memory(part.first / CHUNK_BLOCKS)];
            if part.count == CHUNK_BLOCKS {
                *chunk = Chunk::Uniform(slot);
                continue;
            }
            if let Chunk::Uniform(present) = chunk {
                if *present == slot {
                    continue;
                }
                *chunk = Chunk::Mixed(Box::new([*present; CHUNK_LENGTH]));
            }
            if let Chunk::Mixed(slots) = chunk {
                let start = in_memory(part.first % CHUNK_BLOCKS);
                slots[start..start + in_memory(part.count)].fill(slot);
            }
        }
    }

    /// Returns the runs of one slot each that make up `run`.
    pub(crate) fn runs(&self, run: Run) -> impl Iterator<Item = (Run, Slot)> + '_ {
        let mut first = run.first;
        std::iter::from_fn(move || {
            if first >= run.end() {
                return None;
            }
            let slot = self.slot(first);
            let mut end = first;
            while end < run.end() {
                let next = self.same_until(end, slot, run.end());
                if next == end {
                    break;
                }
                end = next;
            }
            let found = Run::from_bounds(first, end);
            first = end;
            Some((found, slot))
        })
    }

    /// Returns the end of the blocks from `block` on that have `slot`, within the block's chunk and before
    /// `end`. It looks at no block beyond: a read of one block must not cost a look at a chunk.
    fn same_until(&self, block: u64, slot: Slot, end: u64) -> u64 {
        let end = end.min((block / CHUNK_BLOCKS + 1) * CHUNK_BLOCKS);
        match &self.chunks[in_memory(block / CHUNK_BLOCKS)] {
            Chunk::Uniform(present) if *present == slot => end,
            Chunk::Uniform(_) => block,
            Chunk::Mixed(slots) => {
                let start = in_memory(block % CHUNK_BLOCKS);
                let rest = &slots[start..start + in_memory(end - block)];
                let others = rest.iter().zip(block..).find(|(other, _)| **other != slot);
                others.map_or(end, |(_, end)| end)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_map_is_an_array_of_slots(
            steps in prop::collection::vec((0_u64..9000, 1_u64..6000, 0_u16..4), 1..20),
            looked_at in (0_u64..9000, 1_u64..9000),
        ) {
            const BLOCKS: u64 = 9001;
            let mut map = BlockMap::new(BLOCKS);
            let mut model = vec![ZEROS; 9001];
            for (first, count, slot) in steps {
                let run = Run::from_bounds(first, (first + count).min(BLOCKS));
                map.assign(run, slot);
                model[in_memory(run.first)..in_memory(run.end())].fill(slot);
            }
            let run = Run::from_bounds(looked_at.0, (looked_at.0 + looked_at.1).min(BLOCKS));
            let mut next = run.first;
            for (part, slot) in map.runs(run) {
                prop_assert_eq!(part.first, next);
                prop_assert!(part.count > 0);
                next = part.end();
                prop_assert!(model[in_memory(part.first)..in_memory(next)].iter().all(|other| *other == slot));
                prop_assert!(next == run.end() || model[in_memory(next)] != slot);
            }
            prop_assert_eq!(next, run.end());
        }
    }
}
