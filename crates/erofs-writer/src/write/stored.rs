use std::collections::HashMap;
use std::collections::hash_map::Entry;

use xxhash_rust::xxh3::xxh3_64;

use crate::format::BLOCK_BYTES;

/// The longest run that is compared, in bytes: half of the output's buffer, which has to hold it.
pub(super) const RUN_MAX_BYTES: usize = 64 * BLOCK_BYTES;
/// Most runs that are remembered: 2^18, of 16 bytes each and the overhead of a map.
const RUNS_MAX: usize = 1 << 18;

/// The runs of file data in an image, by the hash of their content.
///
/// The hash is fast, but anyone can find collisions. So a run that is found is only a candidate,
/// and is compared.
#[derive(Debug, Default)]
pub(super) struct StoredRuns {
    start_blocks: HashMap<u64, u32>,
}

impl StoredRuns {
    /// Returns the first block of an earlier run that may hold the same bytes. `run` is whole
    /// blocks. If none is known, the run is remembered to lie at `start_block`.
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
