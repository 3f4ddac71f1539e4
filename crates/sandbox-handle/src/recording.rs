//! The record of a command while it runs.

use std::io;
use std::sync::Arc;

use command_journal::{Journal, NewCommand, Rollback, snapshot_name};
use msb_agent_protocol::Client;
use msb_client::{Error, Notice, blocking};
use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_snapshots::{RolledBack, SandboxSnapshots, SnapshotError};

use crate::{ExecOptions, Handle};

/// The most names of snapshots that are tried. A user may have given a snapshot the name of a command's.
const NAMES_TRIED: u32 = 16;

/// The record of a command, from before its start.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    journal: Journal,
    /// `None` if the command is not in the journal.
    number: Option<u64>,
    /// The sandbox that has a snapshot before the command; `None` if there is no snapshot.
    snapped: Option<Arc<Handle>>,
}

/// A command in the journal whose caller has not got its number yet. If the caller is gone, the command is not
/// started, and is withdrawn.
#[derive(Debug)]
struct Unstarted {
    journal: Journal,
    number: Option<u64>,
}

impl Unstarted {
    /// Returns the number to the caller, who starts the command.
    fn into_number(mut self) -> Option<u64> {
        self.number.take()
    }
}

impl Drop for Unstarted {
    fn drop(&mut self) {
        let Some(number) = self.number.take() else {
            return;
        };
        let journal = self.journal.clone();
        // Without the line, the snapshot before the command can be gone back to all the same.
        let withdraw = move || drop(journal.withdraw(number));
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(withdraw)),
            Err(_) => withdraw(),
        }
    }
}

impl Recording {
    /// Records a command that is about to start, and takes the snapshot that it has to have. The caller has a
    /// connection with the sandbox.
    ///
    /// The journal is written for the snapshot; a command without one starts, whatever becomes of its line.
    pub(crate) async fn begin(
        handle: &Arc<Handle>,
        connection: &Client,
        options: &ExecOptions,
    ) -> Result<Self, Error> {
        let stored = handle.stored();
        let journal = Journal::new(stored.files.command_journal());
        let has_snapshot = options.snapshot.unwrap_or(stored.spec.snapshot_commands);
        let mut recording = Self {
            journal,
            number: None,
            snapped: has_snapshot.then(|| Arc::clone(handle)),
        };
        if has_snapshot {
            stored.expect_unpaused()?;
            let (taking, connection) = (recording.clone(), connection.clone());
            let command = new_command(options).with_snapshot();
            // It ends also if the caller is gone, so that the journal has no command without its snapshot.
            let begun = tokio::spawn(async move {
                let begun = taking.begin_with_snapshot(&stored, connection, command);
                begun.await
            });
            let broken_off = |_| Err(Error::internal("the snapshot's task was broken off"));
            recording.number = match begun.await.unwrap_or_else(broken_off) {
                Ok(unstarted) => unstarted.into_number(),
                Err(error) => {
                    let error = handle.shared.in_home(handle.explain(error).await);
                    let what = "the command was not started, as there is no snapshot before it";
                    return Err(error.context(what));
                }
            };
        } else if !options.is_unrecorded {
            let number = recording.append(new_command(options)).await;
            recording.number = number.ok();
        }
        Ok(recording)
    }

    /// Appends the command while the disk is cut, and makes the state a snapshot.
    async fn begin_with_snapshot(
        &self,
        stored: &StoredSandbox,
        connection: Client,
        command: NewCommand,
    ) -> Result<Unstarted, Error> {
        let snapshots = SandboxSnapshots::new(stored.clone());
        let cutting = snapshots.cut_before_command(connection);
        let (number, before) = tokio::join!(self.append(command.clone()), cutting);
        let mut number = number?;
        let before = match before {
            Ok(before) => before,
            Err(error) => {
                self.withdraw(number).await;
                return Err(error.into());
            }
        };
        let mut tries = 0;
        loop {
            let name = snapshot_name(number).parse()?;
            let kept = before.keep(name, number).await;
            let Err(error) = kept else {
                return Ok(Unstarted {
                    journal: self.journal.clone(),
                    number: Some(number),
                });
            };
            self.withdraw(number).await;
            tries += 1;
            if !matches!(error, SnapshotError::Exists { .. }) || tries == NAMES_TRIED {
                return Err(error.into());
            }
            number = self.append(command.clone()).await?;
        }
    }

    async fn append(&self, command: NewCommand) -> Result<u64, Error> {
        let journal = self.journal.clone();
        let appending = blocking(move || journal.begin(&command));
        let appended = appending.await;
        appended.map_err(|error| error.context("cannot write the journal of the commands"))
    }

    /// Records that the command runs as a job.
    pub(crate) async fn runs_as_job(&self, job: u64) {
        self.note(move |journal, number| journal.job(number, job))
            .await;
        self.maintain().await;
    }

    /// Records that the command has ended.
    pub(crate) async fn end(&self, exit_code: u8) {
        self.note(move |journal, number| journal.end(number, exit_code))
            .await;
        self.maintain().await;
    }

    /// Has the snapshot be maintained in the background. While the command runs, that would take time from it.
    async fn maintain(&self) {
        if let Some(handle) = &self.snapped {
            let shared = &handle.shared;
            shared.maintain_after_command(&handle.stored()).await;
        }
    }

    /// Records that the command could not be run.
    pub(crate) async fn failed(&self, error: Error) -> Error {
        self.end(error.exit_code()).await;
        error
    }

    async fn withdraw(&self, number: u64) {
        let journal = self.journal.clone();
        // Its snapshot is missing, which an undo tells.
        let _ = blocking(move || journal.withdraw(number)).await;
    }

    /// Appends what became of the command. If that fails, it is unknown.
    async fn note(&self, append: impl FnOnce(Journal, u64) -> io::Result<()> + Send + 'static) {
        if let Some(number) = self.number {
            let journal = self.journal.clone();
            let _ = blocking(move || append(journal, number)).await;
        }
    }
}

fn new_command(options: &ExecOptions) -> NewCommand {
    NewCommand::new(options.argv.iter().map(|word| word.as_bytes()))
}

/// Records that a user took a snapshot. Without the line, its place among the commands follows from its time.
pub async fn record_snapshot(stored: &StoredSandbox, name: String) {
    let journal = Journal::new(stored.files.command_journal());
    let _ = blocking(move || journal.snapshot_taken(&name)).await;
}

/// The error with which the journal could not be written after a rollback, if there was one. It is no part of
/// the rollback, so any two are equal.
#[derive(Debug, Clone, Default)]
pub struct RecordError(Option<Arc<io::Error>>);

impl RecordError {
    /// Returns the notice about the rollback to a snapshot; `None` if there was no error.
    pub fn notice(&self, snapshot: &str) -> Option<Notice> {
        let error = self.0.as_ref()?;
        let message = format!(
            "the rollback to {snapshot} is made, but is missing in the history, whose file cannot be written: \
             later commands are not marked as undone, and msb undo would take them back again: {error}"
        );
        Some(Notice::new("rollback-unrecorded", message))
    }

    /// Returns the error.
    pub fn take(self) -> Option<io::Error> {
        let error = self.0?;
        Some(io::Error::new(error.kind(), error))
    }
}

impl PartialEq for RecordError {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for RecordError {}

/// Records that a sandbox's files went back to a snapshot.
pub fn record_rollback(stored: &StoredSandbox, rolled: &RolledBack) -> RecordError {
    let rollback = Rollback {
        to: rolled.to.name.as_str(),
        to_created_s: rolled.to.created_s,
        kept: rolled.kept.name.as_str(),
    };
    let recorded = Journal::new(stored.files.command_journal()).rolled_back(&rollback);
    RecordError(recorded.err().map(Arc::new))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_command_whose_caller_is_gone_is_withdrawn() {
        let directory = tempfile::tempdir().expect("a directory");
        let journal = Journal::new(directory.path().join("commands"));
        let begin = || {
            let number = journal.begin(&NewCommand::new(["make"]).with_snapshot());
            Unstarted {
                journal: journal.clone(),
                number: Some(number.expect("begun")),
            }
        };
        let numbers = || -> Vec<u64> {
            let history = journal.history().expect("read");
            history.entries().iter().map(|one| one.number).collect()
        };
        assert_eq!(begin().into_number(), Some(1));
        drop(begin());
        assert_eq!(numbers(), [1]);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(async {
            drop(begin());
            // A thread writes the line.
            for _ in 0..60_000 {
                if numbers() == [1] {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            panic!("the command is not withdrawn");
        });
    }

    #[test]
    fn a_rollback_that_is_not_recorded_is_told() {
        let failed = RecordError(Some(Arc::new(io::ErrorKind::StorageFull.into())));
        let notice = failed.notice("work@clean").expect("a notice");
        assert_eq!(notice.code, "rollback-unrecorded");
        assert!(notice.message.contains("work@clean"), "{}", notice.message);
        assert_eq!(RecordError::default().notice("work@clean"), None);
    }
}
