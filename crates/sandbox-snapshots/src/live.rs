//! Snapshots of running sandboxes. The process that serves the disk cuts it, while the guest has its
//! filesystem frozen if it can.

use std::io;

use generations::State;
use msb_agent_protocol::Client;
use msb_guest_trust::TrustFiles;
use msb_runtime::{ConnectError, GenerationsLock, Spec, UpperPool};
use tokio::task::spawn_blocking;

use super::layer::StagedLayer;
use super::{
    Cause, GENERATIONS_MAX, OpenState, Origin, SandboxSnapshots, Snapshot, SnapshotConsistency,
    SnapshotDraft, SnapshotError, check_count,
};

/// The number of looks at a sandbox that is started and stopped meanwhile.
pub(super) const LOOKS: u32 = 3;

/// The state of a running sandbox's disk. No generation of it is removed while this value lives.
#[derive(Debug)]
pub(super) struct LiveState {
    pub(super) state: State,
    pub(super) consistency: SnapshotConsistency,
    keeping: GenerationsLock,
}

impl SandboxSnapshots {
    /// Takes a snapshot of the sandbox's disk, running or not. With `can_freeze` the guest of a running
    /// one is asked to freeze its filesystem meanwhile; if it does not, or may not, the snapshot is as
    /// after a power cut.
    ///
    /// It copies nothing. A process that is killed, and a power cut, leave the snapshot or none.
    ///
    /// # Errors
    /// If the sandbox has a snapshot of this name, or its disk or the record cannot be written.
    pub async fn take_snapshot(
        &self,
        draft: SnapshotDraft,
        can_freeze: bool,
    ) -> Result<Snapshot, SnapshotError> {
        let mut looks = 0;
        loop {
            let (sandbox, wanted) = (self.clone(), draft.clone());
            let taken = blocking(move || sandbox.create_snapshot(wanted)).await;
            if !matches!(taken, Err(SnapshotError::Running { .. })) {
                return taken;
            }
            looks += 1;
            match self.take_live_snapshot(draft.clone(), can_freeze).await {
                // It has ended meanwhile.
                Err(SnapshotError::Connect(ConnectError::NotRunning { .. })) if looks < LOOKS => {}
                taken => return taken,
            }
        }
    }

    /// Returns the disk of the running sandbox as it is while its guest has the filesystem frozen;
    /// `None` if the guest did not freeze it.
    ///
    /// # Errors
    /// If the sandbox is not running, or its disk cannot be cut.
    pub async fn frozen_disk(&self) -> Result<Option<OpenState>, SnapshotError> {
        let live = self.live_state(true).await?;
        if live.consistency != SnapshotConsistency::Frozen {
            return Ok(None);
        }
        let pool = UpperPool::find(&self.files)?.ok_or(SnapshotError::NoDisk)?;
        let sandbox = self.clone();
        blocking(move || sandbox.open_state(&pool, &live.state).map(Some)).await
    }

    async fn take_live_snapshot(
        &self,
        draft: SnapshotDraft,
        can_freeze: bool,
    ) -> Result<Snapshot, SnapshotError> {
        self.new_label(draft.name.clone(), 0)?;
        let live = self.live_state(can_freeze).await?;
        let sandbox = self.clone();
        blocking(move || sandbox.keep_state(&live.state, draft, live.consistency, Cause::User))
            .await
    }

    /// Has the disk of the running sandbox cut, for sandboxes that begin with it.
    pub(super) async fn origin_of_running(
        &self,
        can_freeze: bool,
    ) -> Result<Origin, SnapshotError> {
        let live = self.live_state(can_freeze).await?;
        let pool = UpperPool::find(&self.files)?.ok_or(SnapshotError::NoDisk)?;
        Ok(Origin {
            spec: Spec::read(&self.files.directory)?,
            trust: TrustFiles::read(&self.files.directory)?,
            pool,
            base: self.files.base(),
            staged: StagedLayer::below(&self.files, &live.state)?,
            state: live.state,
            _keeping: live.keeping,
            _stopped: None,
        })
    }

    /// Has the disk of the running sandbox cut, and returns its state, which is durable.
    async fn live_state(&self, can_freeze: bool) -> Result<LiveState, SnapshotError> {
        self.live_state_over(None, can_freeze).await
    }

    /// Does the same over a connection with the sandbox, if there is one.
    pub(super) async fn live_state_over(
        &self,
        connection: Option<Client>,
        can_freeze: bool,
    ) -> Result<LiveState, SnapshotError> {
        let name = &self.spec.name;
        let pool = UpperPool::find(&self.files)?.ok_or(SnapshotError::NoDisk)?;
        check_count(pool.state()?.generations.len() + 1)?;
        let (pool, keeping) = blocking(move || {
            let keeping = pool.keep_generations()?;
            Ok((pool, keeping))
        })
        .await?;
        let mut client = match connection {
            Some(client) => client,
            None => self.connect_supervisor().await?,
        };
        let limit = u32::try_from(GENERATIONS_MAX).unwrap_or(u32::MAX);
        let reply = client.cut_disk(can_freeze, limit).await;
        let reply = reply.map_err(|source| SnapshotError::Live {
            name: name.clone(),
            source,
        })?;
        let state = State::from_bytes(&reply.state).map_err(|fault| SnapshotError::NoState {
            name: name.clone(),
            fault,
        })?;
        let promised = if reply.was_frozen {
            SnapshotConsistency::Frozen
        } else {
            SnapshotConsistency::Crash
        };
        blocking(move || {
            Ok(LiveState {
                consistency: SnapshotConsistency::of(&pool, &state, promised)?,
                state,
                keeping,
            })
        })
        .await
    }
}

/// Runs work that waits for the host's disk or for other processes.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SnapshotError> + Send + 'static,
) -> Result<T, SnapshotError> {
    let broken_off = |_| io::Error::other("the thread was aborted");
    spawn_blocking(work).await.map_err(broken_off)?
}
