//! Merging: generations that every list has one after the other become one, so that blocks which
//! nobody sees any more take no space.

mod groups;

use std::io;

use generations::{GenerationId, Verified};

use super::SnapshotError;
use super::record::Records;
use crate::Sandbox;
use crate::sandbox::UpperPool;
use groups::groups;

impl Sandbox {
    /// Merges generations of the stopped sandbox's disk that no snapshot needs apart, and returns the
    /// number of bytes that this frees. Neither the disk nor a snapshot changes. A generation that is
    /// much larger than the younger ones beside it stays, because merging copies.
    ///
    /// # Errors
    /// If the sandbox runs, a record or a generation is damaged, or the host has no room for the copy.
    /// Generations that were merged before then stay merged.
    pub fn merge_generations(&self) -> Result<u64, SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        let Some(pool) = UpperPool::find(&sandbox.files)? else {
            return Ok(0);
        };
        let _merging = pool.claim_generations()?;
        let before_bytes = pool.allocated_bytes()?;
        let mut lists = vec![pool.state()?.generations];
        for (_, state) in Records::new(&sandbox.files).states()? {
            lists.push(state.generations);
        }
        for group in groups(&lists, |id| pool.data_bytes(id))? {
            // What a fork has, too, would take its space twice.
            let shared = group.iter().map(|id| pool.is_shared(*id));
            if !shared.collect::<io::Result<Vec<_>>>()?.contains(&true) {
                sandbox.merge_group(&pool, &group)?;
            }
        }
        sandbox.remove_unlisted_of(&pool)?;
        Ok(before_bytes.saturating_sub(pool.allocated_bytes()?))
    }

    /// Merges generations, and replaces them in every list. A process that ends in between leaves
    /// lists of either form, all of which are complete.
    fn merge_group(&self, pool: &UpperPool, group: &[GenerationId]) -> Result<(), SnapshotError> {
        // A changed byte would not be found any more in what it is copied to.
        let verified = group.iter().map(|id| pool.pool.verify(*id));
        let verified: Vec<Verified> = verified.collect::<Result<_, _>>()?;
        let into = pool.pool.merge(group)?;
        if verified.iter().all(|found| *found == Verified::Content) {
            pool.pool.record_digest(into)?;
        }
        let records = Records::new(&self.files);
        for (snapshot, mut state) in records.states()? {
            if state.replace_merged(group, into) {
                records.add(&snapshot.with_state(&state))?;
            }
        }
        if pool.state()?.replace_merged(group, into) {
            let mut disk = pool.open()?;
            disk.replace_merged(group, into)?;
            disk.flush()?;
        }
        Ok(())
    }
}
