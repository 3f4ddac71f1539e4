//! Rollbacks: a disk gets the content of a snapshot, and what it had before is kept as another one.
//!
//! The order is the same for stopped and running sandboxes: the state before is made durable, then its
//! record, then the disk is set to the other state. A process that ends in between leaves the disk with
//! either content, and the state before is found at the next rollback.

use std::sync::Arc;
use std::time::Duration;

use generations::State;
use msb_agent_protocol::{ClientError, RollingBack};
use msb_runtime::{GenerationsLock, UpperPool};

use super::layer::is_same;
use super::live::blocking;
use super::record::Records;
use super::{
    Cause, GENERATIONS_MAX, SandboxSnapshots, Snapshot, SnapshotConsistency, SnapshotDraft,
    SnapshotError, check_count, cut_disk,
};

/// A rollback that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// The snapshot that the disk has the content of.
    pub to: Snapshot,
    /// The snapshot that has the disk as it was before.
    pub kept: Snapshot,
}

/// The outcome of a rollback while the machine stays up.
#[derive(Debug)]
pub enum RollBackRunning {
    /// The rollback is made, and the sandbox runs.
    Done(RolledBack),
    /// The snapshot lies over another image of staged directories than the machine has. The sandbox is to be stopped,
    /// and then to be rolled back.
    OtherStaged,
    /// The guest did not do its part, or the machine has ended. The sandbox is to be stopped if it still
    /// runs, and then to be rolled back.
    Stop {
        /// The rollback, if the disk as it was before is kept: [`SandboxSnapshots::end_roll_back`](crate::SandboxSnapshots::end_roll_back) makes it.
        begun: Option<RolledBack>,
        /// The reason.
        reason: ClientError,
    },
}

/// The disk of a sandbox that is about to be rolled back. No generation of it is removed while this value
/// lives.
struct Rollback {
    pool: UpperPool,
    to: Snapshot,
    state: State,
    _keeping: GenerationsLock,
}

impl SandboxSnapshots {
    /// Gives the stopped sandbox's disk the content of a snapshot; of the newest one if `None`. The disk
    /// as it was before becomes an automatic snapshot, unless it is that of a snapshot already.
    ///
    /// # Errors
    /// If the sandbox runs, has no such snapshot, or its disk or a record cannot be written. If the disk
    /// cannot be set to the snapshot, its content is unchanged and the automatic snapshot stays.
    pub fn roll_back(&self, name: Option<&str>) -> Result<RolledBack, SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        // Without the snapshot the disk is to stay as it is.
        sandbox.snapshot(name)?;
        let rollback = sandbox.prepare_rollback(UpperPool::adopt(&sandbox.files)?, name)?;
        let before = cut_disk(&rollback.pool)?;
        let kept = sandbox.keep_before(&rollback, &before)?;
        rollback.pool.roll_back(&rollback.state)?;
        let to = rollback.to;
        Ok(RolledBack { to, kept })
    }

    /// Sets the disk of the stopped sandbox to the snapshot of a rollback that was begun while it ran. What
    /// the disk has now is lost: the content that it had before the rollback is kept.
    ///
    /// # Errors
    /// If the sandbox runs, the snapshot was removed, or the disk cannot be written.
    pub fn end_roll_back(&self, begun: &RolledBack) -> Result<(), SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        let pool = UpperPool::find(&sandbox.files)?.ok_or(SnapshotError::NoDisk)?;
        let rollback = sandbox.prepare_rollback(pool, Some(begun.to.name.as_str()))?;
        Ok(rollback.pool.roll_back(&rollback.state)?)
    }

    /// Gives the running sandbox's disk the content of a snapshot, as [`roll_back`](Self::roll_back) does,
    /// while its machine stays up. Its processes are ended, by SIGKILL without a `grace`; the main command
    /// is started again.
    ///
    /// # Errors
    /// If the sandbox does not run, has no such snapshot, or the record of what it had before cannot be
    /// written. Then its files are unchanged; only if the record could not be written, its processes have
    /// ended, and the main command was started again.
    pub async fn roll_back_running(
        &self,
        name: Option<&str>,
        grace: Option<Duration>,
    ) -> Result<RollBackRunning, SnapshotError> {
        let (sandbox, name) = (self.clone(), name.map(str::to_owned));
        let rollback = blocking(move || {
            let pool = UpperPool::find(&sandbox.files)?.ok_or(SnapshotError::NoDisk)?;
            check_count(pool.state()?.generations.len() + 1)?;
            let rollback = sandbox.prepare_rollback(pool, name.as_deref())?;
            let now = rollback.pool.state()?;
            let has_same = is_same(&sandbox.files, &now, &rollback.state)?;
            Ok(has_same.then(|| Arc::new(rollback)))
        });
        let Some(rollback) = rollback.await? else {
            return Ok(RollBackRunning::OtherStaged);
        };
        let mut client = self.connect_supervisor().await?;
        let limit = u32::try_from(GENERATIONS_MAX).unwrap_or(u32::MAX);
        let rolling = match client.roll_back(grace, limit).await {
            Ok(rolling) => rolling,
            Err(reason) => {
                let begun = None;
                return Ok(RollBackRunning::Stop { begun, reason });
            }
        };
        let begun = match self.keep_before_running(&rollback, &rolling).await {
            Ok(begun) => begun,
            Err(error) => {
                // A guest that does not mount its disk again has ended.
                let _ = rolling.abandon().await;
                return Err(error);
            }
        };
        Ok(match rolling.replace(rollback.state.to_bytes()).await {
            Ok(()) => RollBackRunning::Done(begun),
            Err(reason) => RollBackRunning::Stop {
                begun: Some(begun),
                reason,
            },
        })
    }

    /// Finds the snapshot, and takes the right by which its generations stay.
    fn prepare_rollback(
        &self,
        pool: UpperPool,
        name: Option<&str>,
    ) -> Result<Rollback, SnapshotError> {
        // The head that the rollback before this one cut off.
        self.remove_unlisted()?;
        let keeping = pool.keep_generations()?;
        let to = self.snapshot(name)?;
        let state = to.state(Records::new(&self.files).path(&to.name))?;
        Ok(Rollback {
            pool,
            to,
            state,
            _keeping: keeping,
        })
    }

    async fn keep_before_running(
        &self,
        rollback: &Arc<Rollback>,
        rolling: &RollingBack,
    ) -> Result<RolledBack, SnapshotError> {
        let before = State::from_bytes(rolling.before());
        let before = before.map_err(|fault| SnapshotError::NoState {
            name: self.spec.name.clone(),
            fault,
        })?;
        let (sandbox, rollback) = (self.clone(), Arc::clone(rollback));
        blocking(move || {
            let kept = sandbox.keep_before(&rollback, &before)?;
            let to = rollback.to.clone();
            Ok(RolledBack { to, kept })
        })
        .await
    }

    /// Keeps the state of the disk before a rollback, which is durable, unless a snapshot has it.
    fn keep_before(&self, rollback: &Rollback, before: &State) -> Result<Snapshot, SnapshotError> {
        if let Some(kept) = Records::new(&self.files).find(before)? {
            return Ok(kept);
        }
        let draft = SnapshotDraft {
            name: None,
            message: Some(format!("before the rollback to {}", rollback.to.name)),
        };
        let consistency =
            SnapshotConsistency::of(&rollback.pool, before, SnapshotConsistency::Clean)?;
        let cause = match rollback.to.command {
            Some(_) => Cause::Undo,
            None => Cause::Rollback,
        };
        self.keep_state(before, draft, consistency, cause)
    }
}
