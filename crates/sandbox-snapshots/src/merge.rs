//! Merging: generations that every list has one after the other become one, so that blocks which
//! nobody sees any more take no space.
//!
//! The blocks are copied beside the disk's pool. Only the exchange of the lists keeps those waiting who need
//! that generations stay; the process of a running machine makes its own part of it.

mod groups;

use std::io;
use std::sync::Arc;

use generations::{FileStorage, GenerationId, Pool, Verified};
use msb_runtime::{ChangeLock, ConnectError, GenerationsLock, SandboxPaths, UpperPool};

use super::layer::follow_merge;
use super::live::{LOOKS, blocking};
use super::record::Records;
use super::staging::{StagingPool, list};
use super::{MANY_GENERATIONS, SandboxSnapshots, SnapshotError};
use groups::groups;

/// The least number of generations that merging in the background has to make fewer. It is run once they
/// are many, and so copies a block only a few times.
const LEAST_FEWER: usize = 16;

/// A way to take the right to merge; it returns `None` if another process has it and is not waited for.
type Claim = fn(&SandboxPaths) -> io::Result<Option<StagingPool>>;

/// Generations, the oldest first, and the one that they were merged into.
#[derive(Debug)]
struct Merged {
    from: Vec<GenerationId>,
    into: GenerationId,
}

impl SandboxSnapshots {
    /// Merges generations of the sandbox's disk, running or not, that no snapshot needs apart, and returns
    /// the number of bytes that this frees. Neither the disk nor a snapshot changes. A generation that is
    /// much larger than the younger ones beside it stays, because merging copies.
    ///
    /// # Errors
    /// If a record or a generation is damaged, the host has no room for the copy, or the process of the
    /// running machine does not take part. Generations that were merged before then stay merged.
    pub async fn merge_generations(&self) -> Result<u64, SnapshotError> {
        self.merge(|files| StagingPool::claim(files).map(Some), 1)
            .await
    }

    /// Does the same in the background: only if it makes many generations fewer, and no other process
    /// merges.
    ///
    /// # Errors
    /// Fails as [`merge_generations`](Self::merge_generations) does.
    pub async fn merge_many_generations(&self) -> Result<u64, SnapshotError> {
        let sandbox = self.clone();
        // Most disks have few, and get no directory for merging.
        if !blocking(move || sandbox.has_many_generations()).await? {
            return Ok(0);
        }
        self.merge(StagingPool::try_claim, LEAST_FEWER).await
    }

    /// Returns true if [`merge_many_generations`](Self::merge_many_generations) would merge some.
    ///
    /// # Errors
    /// If a record is damaged or cannot be read.
    pub fn has_many_generations(&self) -> Result<bool, SnapshotError> {
        self.has_many(|count| count >= MANY_GENERATIONS)
    }

    /// Returns the same after a cut, which has made one generation more. Most cuts are not followed by a look
    /// at every record, so that they take the same time however many there are.
    ///
    /// # Errors
    /// If a record is damaged or cannot be read.
    pub fn has_many_generations_after_cut(&self) -> Result<bool, SnapshotError> {
        self.has_many(|count| count >= MANY_GENERATIONS && count.is_multiple_of(LEAST_FEWER))
    }

    fn has_many(&self, is_looked_at: impl FnOnce(usize) -> bool) -> Result<bool, SnapshotError> {
        let Some(pool) = UpperPool::find(&self.files)? else {
            return Ok(false);
        };
        if !is_looked_at(pool.state()?.generations.len()) {
            return Ok(false);
        }
        let _keeping = pool.keep_generations()?;
        Ok(fewer(&self.groups(&pool)?) >= LEAST_FEWER)
    }

    async fn merge(&self, claim: Claim, least_fewer: usize) -> Result<u64, SnapshotError> {
        let sandbox = self.clone();
        let begun = blocking(move || {
            let Some(pool) = UpperPool::find(&sandbox.files)? else {
                return Ok(None);
            };
            let staging = claim(&sandbox.files)?;
            let keeping = pool.keep_generations()?;
            let is_worth_it = fewer(&sandbox.groups(&pool)?) >= least_fewer;
            drop(keeping);
            Ok(staging.map(|staging| (Arc::new(pool), Arc::new(staging), is_worth_it)))
        });
        let Some((pool, staging, is_worth_it)) = begun.await? else {
            return Ok(0);
        };
        let mut freed_bytes = 0;
        while is_worth_it && let Some(merged) = self.copy_next(&pool, &staging).await? {
            freed_bytes += self.exchange(&pool, &staging, merged).await?;
        }
        let sandbox = self.clone();
        let rest = blocking(move || {
            let _claimed = pool.claim_generations()?;
            let before_bytes = pool.allocated_bytes()?;
            sandbox.remove_unlisted_of(&pool)?;
            Ok(before_bytes.saturating_sub(pool.allocated_bytes()?))
        });
        Ok(freed_bytes + rest.await?)
    }

    /// Merges the next group beside the pool; `None` if there is none.
    async fn copy_next(
        &self,
        pool: &Arc<UpperPool>,
        staging: &Arc<StagingPool>,
    ) -> Result<Option<Merged>, SnapshotError> {
        let (sandbox, pool, staging) = (self.clone(), Arc::clone(pool), Arc::clone(staging));
        blocking(move || {
            staging.clear()?;
            let keeping = pool.keep_generations()?;
            let Some(group) = sandbox.groups(&pool)?.into_iter().next() else {
                return Ok(None);
            };
            staging.take(&pool, &group)?;
            // The files have a second name each, so nobody has to wait for the copy.
            drop(keeping);
            Ok(Some(merge_in(&staging.pool, group)?))
        })
        .await
    }

    /// Replaces merged generations in every list, that of the disk first, and removes them. A process that
    /// ends in between leaves lists of either form, all of which are complete.
    async fn exchange(
        &self,
        pool: &Arc<UpperPool>,
        staging: &Arc<StagingPool>,
        merged: Merged,
    ) -> Result<u64, SnapshotError> {
        let (taker, staging, merged) = (Arc::clone(pool), Arc::clone(staging), Arc::new(merged));
        let (wanted, files) = (Arc::clone(&merged), self.files.clone());
        let (before_bytes, claimed) = blocking(move || {
            let claimed = taker.claim_generations()?;
            let before_bytes = taker.allocated_bytes()?;
            staging.give(&taker, &[wanted.into])?;
            follow_merge(&files, &wanted.from, wanted.into)?;
            Ok((before_bytes, claimed))
        })
        .await?;
        let in_disk = self.exchange_in_disk(pool, &merged).await;
        let (sandbox, pool) = (self.clone(), Arc::clone(pool));
        blocking(move || {
            let exchanged = in_disk.and_then(|()| sandbox.exchange_in_records(&merged, &claimed));
            // What no list has goes: the merged ones, or the new one after an error.
            let removed = sandbox.remove_unlisted_of(&pool);
            exchanged?;
            removed?;
            Ok(before_bytes.saturating_sub(pool.allocated_bytes()?))
        })
        .await
    }

    async fn exchange_in_disk(
        &self,
        pool: &Arc<UpperPool>,
        merged: &Arc<Merged>,
    ) -> Result<(), SnapshotError> {
        let mut looks = 0;
        loop {
            if !pool.state()?.replace_merged(&merged.from, merged.into) {
                return Ok(());
            }
            let (sandbox, pool, wanted) = (self.clone(), Arc::clone(pool), Arc::clone(merged));
            let exchanged = blocking(move || sandbox.exchange_in_stopped(&pool, &wanted)).await;
            if !matches!(exchanged, Err(SnapshotError::Running { .. })) {
                return exchanged;
            }
            looks += 1;
            match self.exchange_in_running(merged).await {
                // It has ended meanwhile.
                Err(SnapshotError::Connect(ConnectError::NotRunning { .. })) if looks < LOOKS => {}
                exchanged => return exchanged,
            }
        }
    }

    fn exchange_in_stopped(&self, pool: &UpperPool, merged: &Merged) -> Result<(), SnapshotError> {
        let (_sandbox, _lock) = self.claim_stopped()?;
        let mut disk = pool.open()?;
        disk.replace_merged(&merged.from, merged.into)?;
        Ok(disk.flush()?)
    }

    async fn exchange_in_running(&self, merged: &Merged) -> Result<(), SnapshotError> {
        let mut client = self.connect_supervisor().await?;
        let from = merged.from.iter().map(|id| id.to_bytes());
        let replaced = client.replace_merged(from, merged.into.to_bytes()).await;
        replaced.map_err(|source| SnapshotError::MergeLive {
            name: self.spec.name.clone(),
            source,
        })
    }

    fn exchange_in_records(
        &self,
        merged: &Merged,
        _claimed: &GenerationsLock,
    ) -> Result<(), SnapshotError> {
        // A record that is removed meanwhile is not to come back.
        let change = ChangeLock::take(&self.files)?;
        // A merge that was killed may have left one, and the sandbox may run for long.
        self.remove_unfinished_records(&change);
        let records = Records::new(&self.files);
        for (snapshot, mut state) in records.states()? {
            if state.replace_merged(&merged.from, merged.into) {
                records.add(&snapshot.with_state(&state))?;
            }
        }
        Ok(())
    }

    /// Returns the groups of generations to be merged. The caller keeps the generations.
    fn groups(&self, pool: &UpperPool) -> Result<Vec<Vec<GenerationId>>, SnapshotError> {
        let mut lists = vec![pool.state()?.generations];
        for (_, state) in Records::new(&self.files).states()? {
            lists.push(state.generations);
        }
        let mut found = Vec::new();
        for group in groups(&lists, |id| pool.data_bytes(id))? {
            // What a fork has, too, would take its space twice.
            let shared = group.iter().map(|id| pool.is_shared(*id));
            if !shared.collect::<io::Result<Vec<_>>>()?.contains(&true) {
                found.push(group);
            }
        }
        Ok(found)
    }
}

/// Merges generations of a pool, whose files are removed.
fn merge_in(pool: &Pool<FileStorage>, from: Vec<GenerationId>) -> Result<Merged, SnapshotError> {
    // A changed byte would not be found any more in what it is copied to.
    let verified = from.iter().map(|id| pool.verify(*id));
    let verified: Vec<Verified> = verified.collect::<Result<_, _>>()?;
    let into = pool.merge(&from)?;
    if verified.iter().all(|found| *found == Verified::Content) {
        pool.record_digest(into)?;
    }
    pool.remove_unlisted(&[list(&[into])])?;
    Ok(Merged { from, into })
}

/// Returns the number of generations by which merging makes them fewer.
fn fewer(groups: &[Vec<GenerationId>]) -> usize {
    groups
        .iter()
        .map(|group| group.len().saturating_sub(1))
        .sum()
}
