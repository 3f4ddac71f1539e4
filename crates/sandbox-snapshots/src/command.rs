//! Snapshots before commands.

use std::sync::Arc;

use msb_agent_protocol::Client;
use msb_runtime::ChangeLock;

use super::live::{LiveState, blocking};
use super::record::Records;
use super::{Cause, SandboxSnapshots, Snapshot, SnapshotDraft, SnapshotError, SnapshotName};

/// The state of a running sandbox's disk before a command. It is durable, and stays while this value lives.
#[derive(Debug, Clone)]
pub struct StateBeforeCommand {
    sandbox: SandboxSnapshots,
    live: Arc<LiveState>,
}

impl StateBeforeCommand {
    /// Makes the state a snapshot, durably.
    ///
    /// # Errors
    /// If the sandbox has a snapshot of this name, or the record cannot be written.
    pub async fn keep(&self, name: SnapshotName, command: u64) -> Result<Snapshot, SnapshotError> {
        let draft = SnapshotDraft {
            name: Some(name),
            // The words of the command are in its private journal: an export has the message.
            message: Some(format!("before command {command}")),
        };
        let (sandbox, live) = (self.sandbox.clone(), Arc::clone(&self.live));
        let cause = Cause::Command(command);
        blocking(move || sandbox.keep_state(&live.state, draft, live.consistency, cause)).await
    }
}

impl SandboxSnapshots {
    /// Has the disk of the running sandbox cut before a command, while its guest has the filesystem frozen.
    ///
    /// # Errors
    /// If the sandbox does not run, or its disk cannot be cut.
    pub async fn cut_before_command(
        &self,
        connection: Client,
    ) -> Result<StateBeforeCommand, SnapshotError> {
        let live = self.live_state_over(Some(connection), true).await?;
        Ok(StateBeforeCommand {
            sandbox: self.clone(),
            live: Arc::new(live),
        })
    }

    /// Removes the snapshots before commands and undos that are older than those of the last
    /// [`undo_limit`](msb_runtime::Spec::undo_limit), and returns their number. Snapshots that a user or another
    /// rollback made stay.
    ///
    /// # Errors
    /// If a file cannot be written or removed. The next call removes the rest.
    pub fn expire_command_snapshots(&self) -> Result<usize, SnapshotError> {
        let naming = ChangeLock::take(&self.files)?;
        let expired = self.expired_command_snapshots()?;
        let Some(newest) = expired.last() else {
            return Ok(0);
        };
        self.give_snapshot_number(&naming, newest.number)?;
        let records = Records::new(&self.files);
        records.remove_all(expired.iter().map(|snapshot| &snapshot.name))?;
        drop(naming);
        self.remove_unlisted()?;
        Ok(expired.len())
    }

    /// Returns true if [`expire_command_snapshots`](Self::expire_command_snapshots) would remove a snapshot.
    pub(super) fn has_expired_command_snapshots(&self) -> Result<bool, SnapshotError> {
        Ok(!self.expired_command_snapshots()?.is_empty())
    }

    /// Returns the snapshots before commands and undos that are beyond the limit, the oldest first.
    fn expired_command_snapshots(&self) -> Result<Vec<Snapshot>, SnapshotError> {
        let records = Records::new(&self.files);
        let mut expired: Vec<Snapshot> = records.each()?.into_iter().flatten().collect();
        expired.retain(|snapshot| snapshot.command.is_some() || snapshot.is_of_undo);
        let limit = usize::try_from(self.spec.undo_limit.get()).unwrap_or(usize::MAX);
        expired.truncate(expired.len().saturating_sub(limit));
        Ok(expired)
    }
}
