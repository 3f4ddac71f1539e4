use std::collections::BTreeSet;
use std::io;

use fs_err as fs;
use serde::Serialize;

use super::{JobFiles, Sandbox, State};
use crate::{Exit, Job, LogReader, untrusted};

/// The most jobs that are listed, the newest: more are of no keeper's making.
const LISTED_MAX: usize = 4096;

/// A job and how it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobCondition {
    /// What it is.
    #[serde(flatten)]
    pub job: Job,
    /// Whether it runs.
    pub running: bool,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

impl Sandbox {
    /// The jobs of its last or present run, oldest first.
    ///
    /// # Errors
    /// When their directory cannot be read.
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

    /// The job of this number; `None` when there is none, none any more, or its description makes no
    /// sense.
    ///
    /// # Errors
    /// When the sandbox's lock cannot be opened.
    pub fn job(&self, id: u64) -> io::Result<Option<JobCondition>> {
        // Asked first: a job that ended with the machine has its end written before.
        let is_up = self.state()? == State::Running;
        let files = JobFiles::of(&self.files.jobs(), id);
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

    /// What a job printed.
    ///
    /// # Errors
    /// When its log cannot be opened.
    pub fn job_output(&self, id: u64) -> io::Result<LogReader> {
        LogReader::open(&JobFiles::of(&self.files.jobs(), id).output_log())
    }
}

/// The number that a job's directory is called by.
fn number(name: &str) -> Option<u64> {
    let id: u64 = name.parse().ok()?;
    (id.to_string() == name).then_some(id)
}

/// What job `id` says it is; a machine's process wrote it, so it may be anything.
fn described(files: &JobFiles, id: u64) -> Option<Job> {
    let bytes = untrusted::read(&files.job()).ok()??;
    let job: Job = serde_json::from_slice(&bytes).ok()?;
    (job.id == id).then_some(job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::untrusted::tests::misfits;

    #[test]
    fn a_job_is_what_its_directory_says() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = JobFiles::of(directory.path(), 7);
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
