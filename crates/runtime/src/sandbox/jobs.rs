use std::collections::BTreeSet;
use std::io;

use fs_err as fs;
use msb_machine_records::{Exit, LogReader, untrusted_file};
use serde::{Deserialize, Serialize};

use super::{JobPaths, Sandbox};

/// Maximum number of listed jobs, the newest ones. A supervisor normally keeps far fewer.
const LISTED_MAX: usize = 4096;

/// A job's description, as `job.json` in its directory holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The job's number in this run of the sandbox, from 1.
    pub id: u64,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The user that the job runs as, `user[:group]`; root if empty.
    #[serde(default)]
    pub user: String,
    /// The job's process id in the guest; `None` until it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The start time, in seconds since the epoch.
    pub started_s: u64,
}

/// A job, its state and its exit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobCondition {
    /// The job's number, command and start.
    #[serde(flatten)]
    pub job: Job,
    /// True if the job is running.
    pub running: bool,
    /// The job's exit; `None` while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

impl Sandbox {
    /// Returns the jobs of the last or current run, oldest first.
    ///
    /// # Errors
    /// If their directory cannot be read.
    pub fn jobs(&self) -> io::Result<Vec<JobCondition>> {
        let entries = match fs::read_dir(self.files.jobs()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut newest = BTreeSet::new();
        for entry in entries {
            newest.extend(entry?.file_name().to_str().and_then(number));
            if newest.len() > LISTED_MAX {
                newest.pop_first();
            }
        }
        let jobs = newest.into_iter().map(|id| self.job(id));
        jobs.filter_map(Result::transpose).collect()
    }

    /// Returns the job with this number.
    /// `None` if the job never existed, was removed, or its record cannot be parsed.
    ///
    /// # Errors
    /// If the sandbox's lock cannot be opened.
    pub fn job(&self, id: u64) -> io::Result<Option<JobCondition>> {
        // The state is read first: the exit of a job is written before its machine ends.
        let is_up = self.state()?.is_up();
        let files = JobPaths::new(&self.files.jobs(), id);
        let Some(job) = described(&files, id) else {
            return Ok(None);
        };
        let exit = Exit::read(&files.exit());
        Ok(Some(JobCondition {
            job,
            running: is_up && exit.is_none(),
            exit: exit.or_else(|| (!is_up).then(|| Exit::killed(None))),
        }))
    }

    /// Opens the log of a job's output.
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub fn job_output(&self, id: u64) -> io::Result<LogReader> {
        LogReader::open(&JobPaths::new(&self.files.jobs(), id).output_log())
    }
}

/// Returns the job number that a directory's name stands for; `None` for any other name.
fn number(name: &str) -> Option<u64> {
    let id: u64 = name.parse().ok()?;
    (id.to_string() == name).then_some(id)
}

/// Reads the record of job `id`. The VMM process wrote it, so its content is untrusted.
fn described(files: &JobPaths, id: u64) -> Option<Job> {
    let bytes = untrusted_file::read(&files.job()).ok()??;
    let job: Job = serde_json::from_slice(&bytes).ok()?;
    (job.id == id).then_some(job)
}

#[cfg(test)]
mod tests {
    use testkit::misfits;

    use super::*;

    #[test]
    fn a_job_is_what_its_directory_says() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = JobPaths::new(directory.path(), 7);
        fs::create_dir(&files.directory).expect("made");
        for kind in misfits(&files.job()) {
            assert_eq!(described(&files, 7), None, "{kind}");
        }
        let text = r#"{"id": 7, "argv": ["true"], "started_s": 1}"#;
        fs::write(files.job(), text).expect("written");
        assert!(described(&files, 7).is_some());
        assert_eq!(described(&files, 8), None);
        assert_eq!(
            [number("7"), number("07"), number("x")],
            [Some(7), None, None]
        );
    }
}
