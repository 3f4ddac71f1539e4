use std::io;

use fs_err as fs;
use serde::Serialize;

use super::{JobFiles, Sandbox, State};
use crate::{Exit, Job, LogReader};

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
        let mut jobs = Vec::new();
        for entry in entries {
            let id = entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            if let Some(job) = id.map(|id| self.job(id)).transpose()?.flatten() {
                jobs.push(job);
            }
        }
        jobs.sort_by_key(|condition| condition.job.id);
        Ok(jobs)
    }

    /// The job of this number; `None` when there is none, or none any more.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn job(&self, id: u64) -> io::Result<Option<JobCondition>> {
        // Asked first: a job that ended with the machine has its end written before.
        let is_up = self.state()? == State::Running;
        let files = JobFiles::of(&self.files.jobs(), id);
        let job = match fs::read(files.job()) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let exit = Exit::read(&files.exit())?;
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
