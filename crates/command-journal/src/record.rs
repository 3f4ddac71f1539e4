use serde::{Deserialize, Serialize};

use crate::Entry;

/// The longest time between the record of a command and the start of its job, in seconds. A snapshot is taken in
/// between, for which the guest has a minute.
const JOB_START_MAX_S: u64 = 120;

/// A command that was run in a sandbox, with the keys of `msb history --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The number: a later command of the sandbox has a higher one.
    pub number: u64,
    /// Time before the start, in RFC 3339, with milliseconds.
    pub started: String,
    /// The program and its arguments; bytes that are not UTF-8 are replaced.
    pub argv: Vec<String>,
    /// True if the command is longer than `argv`, which has at most 4 KiB.
    pub truncated: bool,
    /// The number of the job in its run of the sandbox; `None` if the command is none.
    pub job: Option<u64>,
    /// The exit code; `None` if the end is not known.
    pub exit_code: Option<u8>,
    /// Time from the start to the end, in ms; `None` if the end is not known.
    pub duration_ms: Option<u64>,
    /// The name of the snapshot before the command; `None` if there is none.
    pub snapshot: Option<String>,
    /// True if the files went back to a state before the command.
    pub undone: bool,
    /// The changes from the snapshot to the next state that is kept; `None` if they were not asked for, or
    /// there is no snapshot.
    pub changes: Option<ChangeCounts>,
}

/// The number of changes between two states of a sandbox's files, as `msb diff` lists them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeCounts {
    /// Names that were added.
    pub added: u64,
    /// Names whose file was changed.
    pub changed: u64,
    /// Names that were deleted. What is below a deleted directory does not count.
    pub deleted: u64,
}

/// The end of a job, which may be that of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnd {
    /// Time of the job's start, in seconds since the epoch.
    pub started_s: u64,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The exit code.
    pub exit_code: u8,
    /// Time of the end, in seconds since the epoch; `None` if it was not observed.
    pub ended_s: Option<u64>,
}

impl CommandRecord {
    /// Returns the record of an entry. `has` returns true if a snapshot exists.
    #[must_use]
    pub fn new(entry: &Entry, has: impl FnOnce(&str) -> bool) -> Self {
        Self {
            number: entry.number,
            started: entry.started.to_string(),
            argv: entry.argv.clone(),
            truncated: entry.is_cut,
            job: entry.job,
            exit_code: entry.exit_code,
            duration_ms: entry.duration_ms(),
            snapshot: entry.snapshot.clone().filter(|name| has(name)),
            undone: entry.is_undone,
            changes: None,
        }
    }

    /// Adds the end of the job with the command's number, unless it is that of another command: the numbers of jobs
    /// begin anew in each run of the sandbox.
    pub fn add_job_end(&mut self, entry: &Entry, job: &JobEnd) {
        if !job.is_of(entry) {
            return;
        }
        self.exit_code = Some(job.exit_code);
        let duration_s = job.ended_s.map(|end| end.saturating_sub(job.started_s));
        self.duration_ms = duration_s.map(|duration| duration.saturating_mul(1000));
    }
}

impl JobEnd {
    /// Returns true if the job may be that of a command: it started then, with the same words.
    #[must_use]
    pub fn is_of(&self, entry: &Entry) -> bool {
        let started_s = u64::try_from(entry.started.as_second()).unwrap_or(0);
        let is_then = (started_s..=started_s + JOB_START_MAX_S).contains(&self.started_s);
        is_then && (entry.is_cut || self.argv == entry.argv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_another_job_of_the_number_does_not_count() {
        let entry = Entry {
            number: 1,
            started: jiff::Timestamp::from_second(1000).expect("a time"),
            argv: vec!["make".to_owned()],
            is_cut: false,
            snapshot: None,
            job: Some(1),
            exit_code: None,
            ended: None,
            is_undone: false,
            states_before: 0,
            begin_line: 0,
            end_line: None,
        };
        let end = JobEnd {
            started_s: 1001,
            argv: entry.argv.clone(),
            exit_code: 3,
            ended_s: Some(1003),
        };
        let record = |end: &JobEnd| {
            let mut record = CommandRecord::new(&entry, |_| true);
            record.add_job_end(&entry, end);
            (record.exit_code, record.duration_ms)
        };
        assert_eq!(record(&end), (Some(3), Some(2000)));
        for started_s in [999, 1121] {
            let other = JobEnd {
                started_s,
                ..end.clone()
            };
            assert_eq!(record(&other), (None, None));
        }
        let other = JobEnd {
            argv: Vec::new(),
            ..end
        };
        assert_eq!(record(&other), (None, None));
    }
}
