use std::collections::HashMap;
use std::collections::hash_map::Entry;

use xxhash_rust::xxh3::xxh3_64;

use crate::format::BLOCK_BYTES;

/// The longest run that is looked for, in bytes: half of the output's buffer, which has to hold it whole.
pub(super) const RUN_MAX_BYTES: usize = 64 * BLOCK_BYTES;
/// How many runs are remembered: 2^18, of 16 bytes each and what a map adds.
const RUNS_MAX: usize = 1 << 18;

/// Runs of file data that an image has, by what they hold.
///
/// The hash is a fast one that anyone can find collisions for. So what is found is only where the
/// same bytes may lie, and is compared.
#[derive(Debug, Default)]
pub(super) struct StoredRuns {
    start_blocks: HashMap<u64, u32>,
}

impl StoredRuns {
    /// Where a run with these bytes, whole blocks, may lie already. If nothing is known of one, the
    /// run is remembered to lie at `start_block`.
    pub(super) fn find_or_insert(&mut self, run: &[u8], start_block: u32) -> Option<u32> {
        let is_full = self.start_blocks.len() >= RUNS_MAX;
        match self.start_blocks.entry(xxh3_64(run)) {
            Entry::Occupied(found) => Some(*found.get()),
            Entry::Vacant(room) => {
                if !is_full {
                    room.insert(start_block);
                }
                None
            }
        }
    }
}
