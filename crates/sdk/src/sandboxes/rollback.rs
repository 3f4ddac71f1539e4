//! Rollbacks of a sandbox to its snapshots.

use std::time::Duration;

use msb_cancellation::Effect;
use msb_sandbox_handle::{RecordError, own_options};
use serde::{Deserialize, Serialize};

use super::{Sandbox, StartOptions};
use crate::snapshots::Progress;
use crate::{Error, ErrorKind, Notice, Operation, SnapshotInfo};

/// The options of a rollback.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RollbackOptions {
    /// The name of the snapshot; the newest one if `None`.
    pub name: Option<String>,
    /// Time that the processes of a running sandbox have to end, in ms. If `None`, they are killed at once; if
    /// the machine has to be booted anew, they have the sandbox's own.
    pub stop_timeout_ms: Option<u64>,
    /// The parameters of the start, if the machine of a running sandbox has to be booted anew.
    pub start: StartOptions,
}

/// A rollback that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RolledBack {
    /// The snapshot that the sandbox's files are those of.
    pub to: SnapshotInfo,
    /// The snapshot of the files as they were before.
    pub kept: SnapshotInfo,
    /// True if the sandbox was running: its processes were ended, and its command was started again.
    pub restarted: bool,
    /// True if its machine was booted anew for that, because the guest did not do its part.
    #[serde(default)]
    pub booted: bool,
    /// The notices of that start, and `rollback-unrecorded` if the history of the commands could not be written.
    #[serde(skip)]
    pub notices: Vec<Notice>,
    /// The error with which the journal of the commands could not be written, if there was one.
    #[serde(skip)]
    pub(crate) unrecorded: RecordError,
}

impl Sandbox {
    /// Makes the files those of a snapshot; of the newest one without a name. The files as they were
    /// before are kept as an automatic snapshot. The processes of a running sandbox are killed, and its
    /// command is started again; its machine stays up. If the guest does not do its part, the sandbox is
    /// stopped and started instead.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let rolled = sandbox.rollback(Some("clean")).await?;
    /// println!("the files before are in {}", rolled.kept.name);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`rollback_with`](Self::rollback_with) does.
    pub fn rollback(&self, snapshot: Option<&str>) -> Operation<RolledBack> {
        self.rollback_with(RollbackOptions {
            name: snapshot.map(str::to_owned),
            ..RollbackOptions::default()
        })
    }

    /// Rolls back like [`rollback`](Self::rollback), with these options.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound), which leaves a running sandbox running;
    /// [`SandboxRunning`](ErrorKind::SandboxRunning) if the sandbox is removed when it stops; and what a
    /// start can fail with. If the rollback fails, the sandbox runs again with its files unchanged. If the
    /// start fails, the rollback is made.
    pub fn rollback_with(&self, options: RollbackOptions) -> Operation<RolledBack> {
        let sandbox = self.clone();
        self.handle().change(Effect::Guest, move |_| async move {
            let mut rolled = sandbox.roll_back(options).await?;
            let full_name = format!("{}@{}", rolled.to.sandbox, rolled.to.name);
            rolled.notices.extend(rolled.unrecorded.notice(&full_name));
            // The files before are a snapshot, too.
            let handle = sandbox.handle();
            handle
                .shared()
                .maintain_after_snapshot(&handle.stored())
                .await;
            Ok(rolled)
        })
    }

    pub(crate) async fn roll_back(&self, options: RollbackOptions) -> Result<RolledBack, Error> {
        let snapshots = self.snapshots();
        let name = options.name.as_deref();
        if !self.handle().state().await?.is_up() {
            return snapshots.rollback(name).await;
        }
        // A sandbox is not stopped for a snapshot that is not there.
        snapshots.find(name).await?;
        self.expect_to_outlive_a_stop()?;
        let grace = options.stop_timeout_ms.map(Duration::from_millis);
        let begun = match snapshots.rollback_running(name, grace).await? {
            Progress::Done(rolled) => return Ok(rolled),
            Progress::Stop { begun } => begun,
        };
        self.stop(grace).await?;
        let rolled = match begun {
            Some(begun) => snapshots.end_rollback(begun).await,
            None => snapshots.rollback(name).await,
        };
        let started = self.start_again(options.start).await;
        let mut rolled = rolled?;
        rolled.notices = started?;
        rolled.restarted = true;
        rolled.booted = true;
        Ok(rolled)
    }

    /// Starts the sandbox, which this handle has stopped, and owns it again if it did before.
    async fn start_again(&self, options: StartOptions) -> Result<Vec<Notice>, Error> {
        let notices = self.start_with(options).await?;
        if self.is_owned() {
            let owner = self.handle().stored().own(own_options()).await?;
            // Dropped, the ownership of the machine that has ended would end this one.
            let before = self.handle().take_owner();
            self.own(owner);
            if let Some(before) = before {
                before.forget();
            }
        }
        Ok(notices)
    }

    /// Fails if the sandbox, which runs, is removed when it stops.
    fn expect_to_outlive_a_stop(&self) -> Result<(), Error> {
        if !self.is_removed_when_stopped() {
            return Ok(());
        }
        let name = self.name();
        let message = format!(
            "cannot roll back sandbox {name} while it runs: it is removed when it stops; create it without --rm, \
             or fork one of its snapshots"
        );
        Err(Error::new(ErrorKind::SandboxRunning, message).with_detail("name", name.as_str()))
    }
}
