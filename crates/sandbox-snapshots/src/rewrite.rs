//! A disk whose content is written anew, while its snapshots stay as they are.

use std::path::Path;

use generations::{Base, State};
use msb_runtime::{NewDisk, UpperPool, current_staged};

use super::layer::put_below;
use super::staging::StagingPool;
use super::{SandboxSnapshots, SnapshotError};

/// The content of a disk that has been written and is not used yet.
pub struct StagedDisk {
    staging: StagingPool,
    state: State,
}

impl SandboxSnapshots {
    /// Writes the content of a disk durably, beside the disk of the stopped sandbox. The new disk begins with
    /// `base`, which has its size, or with zeros. Returns the error of `write` as a value of its own.
    ///
    /// # Errors
    /// If the host cannot write the disk.
    pub fn stage_disk<E>(
        &self,
        size_bytes: u64,
        base: Option<&Base>,
        write: impl FnOnce(NewDisk<'_>) -> Result<(), E>,
    ) -> Result<Result<StagedDisk, E>, SnapshotError> {
        let staging = StagingPool::claim(&self.files)?;
        staging.clear()?;
        let id = staging.pool.new_disk_id()?;
        match base {
            Some(base) => staging.pool.create_over(id, base)?,
            None => staging.pool.create_disk(id, size_bytes)?,
        }
        let mut disk = staging.pool.open_disk(id)?;
        if let Err(error) = write(NewDisk(&mut disk)) {
            return Ok(Err(error));
        }
        let state = disk.cut()?;
        disk.flush()?;
        Ok(Ok(StagedDisk { staging, state }))
    }
}

impl StagedDisk {
    /// Gives the stopped sandbox's disk the content, over the image of staged directories that is below it now, or
    /// over a new one. The caller has the sandbox's lock, and nobody reads the disk. A process that ends before this
    /// returns leaves the disk with either content, over the image that belongs to it.
    ///
    /// # Errors
    /// If the disk cannot be replaced, or the content that no list has cannot be removed.
    pub fn replace(
        self,
        sandbox: &SandboxSnapshots,
        pool: &UpperPool,
        new_image: Option<&Path>,
    ) -> Result<(), SnapshotError> {
        let _claimed = pool.claim_generations()?;
        let replaced = self.give_to(sandbox, pool, new_image);
        // What no list has goes: the old content, or the new one after an error.
        let removed = sandbox.remove_unlisted_of(pool);
        replaced?;
        removed
    }

    fn give_to(
        &self,
        sandbox: &SandboxSnapshots,
        pool: &UpperPool,
        new_image: Option<&Path>,
    ) -> Result<(), SnapshotError> {
        self.staging.give(pool, &self.state.generations)?;
        let image = match new_image {
            Some(image) => image.to_owned(),
            None => current_staged(&sandbox.files)?,
        };
        if image == sandbox.files.staged() {
            return Ok(pool.begin_again(&self.state)?);
        }
        if let Some(oldest) = self.state.generations.first() {
            put_below(&sandbox.files, *oldest, &image)?;
        }
        // The list of the disk names the generation from now on, and so the image.
        Ok(pool.roll_back(&self.state)?)
    }
}
