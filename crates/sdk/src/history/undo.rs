use std::collections::HashMap;

use command_journal::{Entry, JobEnd, Journal, Undo, UndoError};
use msb_cancellation::Effect;
use msb_client::blocking;
use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_snapshots::{SandboxSnapshots, SnapshotError};
use serde::{Deserialize, Serialize};

use super::{CommandRecord, job_end, newest_jobs};
use crate::{
    Error, Notice, Operation, RollbackOptions, RolledBack, Sandbox, SnapshotInfo, StartOptions,
};

/// The options of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct UndoOptions {
    /// The number of commands with a snapshot to take back, the newest ones; 1 by default.
    pub count: usize,
    /// True to return the commands, and change nothing.
    pub dry_run: bool,
    /// Time that the processes of a running sandbox have to end, in ms. If `None`, they are killed at once.
    pub stop_timeout_ms: Option<u64>,
    /// The parameters of the start, if the machine of a running sandbox has to be booted anew.
    pub start: StartOptions,
}

impl Default for UndoOptions {
    fn default() -> Self {
        Self {
            count: 1,
            dry_run: false,
            stop_timeout_ms: None,
            start: StartOptions::default(),
        }
    }
}

/// An undo that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Undone {
    /// The commands that are undone, those between them without a snapshot too, the newest first.
    pub commands: Vec<CommandRecord>,
    /// Earlier commands, the newest first, whose end is not known to be before the oldest of those: they are not
    /// undone, but what they changed since its start is lost.
    #[serde(default)]
    pub overlapping: Vec<CommandRecord>,
    /// The snapshot that the sandbox's files are those of.
    pub to: SnapshotInfo,
    /// The snapshot of the files as they were before: a rollback to it takes the undo back. `None` if nothing
    /// was changed.
    pub kept: Option<SnapshotInfo>,
    /// True if the sandbox was running: its processes were ended, and its command was started again.
    pub restarted: bool,
    /// True if its machine was booted anew for that, because the guest did not do its part.
    pub booted: bool,
    /// The notices of that start.
    #[serde(skip)]
    pub notices: Vec<Notice>,
}

impl Sandbox {
    /// Makes the files those before the last `count` commands that have a snapshot, of those that are not undone
    /// already. It is a [`rollback`](Self::rollback) to the snapshot before the oldest of them: the processes of a
    /// running sandbox are killed, and its command is started again.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// sandbox.exec(["rm", "-rf", "/srv"]).snapshot(true).await?;
    /// let undone = sandbox.undo(1).await?;
    /// println!("{:?} is undone", undone.commands[0].argv);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`undo_with`](Self::undo_with) does.
    pub fn undo(&self, count: usize) -> Operation<Undone> {
        self.undo_with(UndoOptions {
            count,
            ..UndoOptions::default()
        })
    }

    /// Undoes commands like [`undo`](Self::undo), with these options.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if no command has a snapshot, or the snapshot was removed;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are fewer commands; and what
    /// [`rollback_with`](Self::rollback_with) can fail with. If the rollback was made and the journal cannot be
    /// written, the error says so.
    pub fn undo_with(&self, options: UndoOptions) -> Operation<Undone> {
        let sandbox = self.clone();
        self.handle()
            .change(Effect::Guest, move |_| sandbox.undo_now(options))
    }

    async fn undo_now(self, options: UndoOptions) -> Result<Undone, Error> {
        let handle = self.handle();
        let stored = handle.stored();
        let finding = blocking(move || find(&stored, options.count));
        let undo = finding.await?;
        let records = |entries: &[Entry]| -> Vec<CommandRecord> {
            let records = entries.iter();
            let records = records.map(|entry| CommandRecord::new(entry, |_| true));
            records.collect()
        };
        let (commands, overlapping) = (records(&undo.commands), records(&undo.overlapping));
        if options.dry_run {
            return Ok(Undone {
                commands,
                overlapping,
                to: self.snapshots().get(&undo.snapshot).await?,
                kept: None,
                restarted: false,
                booted: false,
                notices: Vec::new(),
            });
        }
        let rolling = self.roll_back(RollbackOptions {
            name: Some(undo.snapshot.clone()),
            stop_timeout_ms: options.stop_timeout_ms,
            start: options.start,
        });
        let rolled = rolling.await?;
        let shared = handle.shared();
        shared.maintain_after_snapshot(&handle.stored()).await;
        undone((commands, overlapping), rolled, handle.name(), undo)
    }
}

/// Finds the commands that are to be undone.
fn find(stored: &StoredSandbox, count: usize) -> Result<Undo, Error> {
    let history = Journal::new(stored.files.command_journal()).history()?;
    let snapshots = SandboxSnapshots::new(stored.clone());
    let exists = |entry: &Entry| match snapshots.snapshot(entry.snapshot.as_deref()) {
        // A user may have given the name to another one since.
        Ok(snapshot) => snapshot.command == Some(entry.number),
        Err(SnapshotError::Missing { .. } | SnapshotError::Empty { .. }) => false,
        // The rollback tells the damage.
        Err(_) => true,
    };
    let mut undo = history.undo(&stored.spec.name, count, exists)?;
    let started_s = stored.condition()?.started_s;
    let newest = newest_jobs(history.entries());
    if let Some(oldest) = undo.commands.last().map(|entry| entry.started.as_second()) {
        let mut overlapping = Vec::new();
        for entry in undo.overlapping {
            if !has_ended_before(stored, &entry, oldest, started_s, &newest)? {
                overlapping.push(entry);
            }
        }
        undo.overlapping = overlapping;
    }
    Ok(undo)
}

/// Returns true if a command whose end is not in the journal ended before a time, in seconds since the epoch.
/// `started_s` is that of the sandbox's last start.
fn has_ended_before(
    stored: &StoredSandbox,
    entry: &Entry,
    time_s: i64,
    started_s: Option<u64>,
    newest: &HashMap<u64, u64>,
) -> Result<bool, Error> {
    let before = |at_s: u64| i64::try_from(at_s).is_ok_and(|at_s| at_s < time_s);
    // No command outlives the run that it belongs to.
    let is_of_earlier_run = |at_s: u64| {
        let at_s = i64::try_from(at_s).unwrap_or(i64::MAX);
        entry.started.as_second() < at_s && at_s <= time_s
    };
    if started_s.is_some_and(is_of_earlier_run) {
        return Ok(true);
    }
    let end = job_end(stored, entry, newest)?;
    let is_its = |end: &JobEnd| end.is_of(entry);
    Ok(end
        .filter(is_its)
        .and_then(|end| end.ended_s)
        .is_some_and(before))
}

fn undone(
    (commands, overlapping): (Vec<CommandRecord>, Vec<CommandRecord>),
    rolled: RolledBack,
    sandbox: String,
    undo: Undo,
) -> Result<Undone, Error> {
    if let Some(source) = rolled.unrecorded.take() {
        return Err(Error::from(UndoError::NotRecorded {
            sandbox,
            snapshot: undo.snapshot,
            source,
        }));
    }
    Ok(Undone {
        commands,
        overlapping,
        to: rolled.to,
        kept: Some(rolled.kept),
        restarted: rolled.restarted,
        booted: rolled.booted,
        notices: rolled.notices,
    })
}
