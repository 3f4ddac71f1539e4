//! The commands that were run in a sandbox, and going back to the state before them.

mod changes;
mod undo;

use std::collections::{BTreeSet, HashMap};

pub use command_journal::{ChangeCounts, CommandRecord};
use command_journal::{Entry, JobEnd, Journal, NextState};
use msb_client::blocking;
use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_snapshots::SandboxSnapshots;
use serde::{Deserialize, Serialize};

pub use undo::{UndoOptions, Undone};

use crate::{Error, Operation, Sandbox};

/// The options of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HistoryOptions {
    /// The number of the last commands to return; all if `None`.
    pub last: Option<usize>,
    /// True to count the changes of each command whose snapshot exists. That reads the disks.
    pub changes: bool,
}

/// The commands of a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct History {
    /// The commands, the oldest first.
    pub commands: Vec<CommandRecord>,
    /// The beginnings of damaged lines of the journal, escaped; of many the first ones.
    pub damaged_lines: Vec<String>,
}

impl Sandbox {
    /// Returns the commands that were run in the sandbox: by `exec`, `spawn` and as jobs. The main command is not
    /// among them.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// sandbox.exec(["make", "install"]).snapshot(true).await?;
    /// for command in sandbox.history().await?.commands {
    ///     println!("{} {:?} {:?}", command.number, command.argv, command.exit_code);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the journal of the commands cannot be read.
    pub fn history(&self) -> Operation<History> {
        self.history_with(HistoryOptions::default())
    }

    /// Returns the commands like [`history`](Self::history), with these options.
    ///
    /// # Errors
    /// If the journal cannot be read; for changes, what [`diff`](Self::diff) fails with.
    pub fn history_with(&self, options: HistoryOptions) -> Operation<History> {
        let handle = self.handle();
        Operation::new(async move {
            handle.settled().await;
            let stored = handle.stored();
            let reading = blocking(move || read(&stored, options.last));
            let (mut history, next) = reading.await?;
            if options.changes {
                changes::count(&handle, &mut history.commands, next).await?;
            }
            Ok(history)
        })
    }
}

/// Reads the history of a sandbox, and the next state that is kept after each of the commands.
fn read(stored: &StoredSandbox, last: Option<usize>) -> Result<(History, Vec<NextState>), Error> {
    let journal = Journal::new(stored.files.command_journal());
    let history = journal.history()?;
    let snapshots = SandboxSnapshots::new(stored.clone())
        .snapshots()?
        .into_iter()
        .flatten();
    let names: BTreeSet<String> = snapshots.map(|one| one.name.to_string()).collect();
    let entries = history.entries();
    let skipped = last.map_or(0, |last| entries.len().saturating_sub(last));
    let newest = newest_jobs(entries);
    let (mut commands, mut next) = (Vec::new(), Vec::new());
    for entry in &entries[skipped..] {
        let mut command = CommandRecord::new(entry, |name| names.contains(name));
        if let Some(end) = job_end(stored, entry, &newest)? {
            command.add_job_end(entry, &end);
        }
        next.push(match &command.snapshot {
            Some(_) => history.next_state(entry, |name| names.contains(name)),
            // Its changes are not counted.
            None => NextState::Current,
        });
        commands.push(command);
    }
    let damaged = history.damaged().iter();
    let damaged_lines = damaged.map(|line| msb_client::printable(&line.text));
    let history = History {
        commands,
        damaged_lines: damaged_lines.collect(),
    };
    Ok((history, next))
}

/// Returns the number of the newest command for each number of a job: the jobs of earlier runs are removed.
fn newest_jobs(entries: &[Entry]) -> HashMap<u64, u64> {
    let jobs = entries.iter();
    jobs.filter_map(|entry| Some((entry.job?, entry.number)))
        .collect()
}

/// Returns the end of a command's job that the journal does not have; `None` if it is not known.
fn job_end(
    stored: &StoredSandbox,
    entry: &Entry,
    newest: &HashMap<u64, u64>,
) -> Result<Option<JobEnd>, Error> {
    let Some(job) = entry.job.filter(|_| entry.exit_code.is_none()) else {
        return Ok(None);
    };
    if newest.get(&job) != Some(&entry.number) {
        return Ok(None);
    }
    let Some(condition) = stored.job(job)? else {
        return Ok(None);
    };
    Ok(condition.exit.map(|exit| JobEnd {
        started_s: condition.job.started_s,
        argv: condition.job.argv,
        exit_code: exit.code,
        ended_s: exit.ended_s,
    }))
}

#[cfg(test)]
mod tests {
    use command_journal::NewCommand;

    use super::*;

    #[test]
    fn the_number_of_a_job_is_that_of_its_newest_command() {
        let directory = tempfile::tempdir().expect("a directory");
        let journal = Journal::new(directory.path().join("commands"));
        for job in [1, 2, 1] {
            let number = journal.begin(&NewCommand::new(["make"])).expect("begun");
            journal.job(number, job).expect("appended");
        }
        let history = journal.history().expect("read");
        let newest = newest_jobs(history.entries());
        assert_eq!(newest, HashMap::from([(1, 3), (2, 2)]));
    }
}
