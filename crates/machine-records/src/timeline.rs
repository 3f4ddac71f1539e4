//! The times of the stages of a start: lines of JSON in a file, from every process that takes part.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis};
use fs_err as fs;
use msb_agent_protocol::v1::HelloReply;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A stage of a start, in chronological order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The first line of the typed command's `main`.
    ProcessUp,
    /// The image is in the store, leased and verified.
    ImageChecked,
    /// The sandbox's directory, disk and description are written.
    SandboxCreated,
    /// The VMM process has read its arguments.
    MachineProcessUp,
    /// The process enters the VMM.
    VmmEntered,
    /// The guest's uptime is zero.
    Kernel,
    /// The first line of the agent's `main`.
    AgentMain,
    /// All mounts of the sandbox are done.
    MountsDone,
    /// The agent's first answer has arrived.
    AgentAnswered,
    /// The command runs in the guest.
    CommandStarted,
    /// The command's first output was passed on.
    FirstByte,
    /// The command's end is known.
    ExitSeen,
}

/// The file of the timeline cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the timeline {}", .path.display())]
pub struct TimelineError {
    /// The path of the file.
    pub path: PathBuf,
    /// The I/O error that caused it.
    #[source]
    pub source: io::Error,
}

impl Diagnose for TimelineError {
    fn diagnosis(&self) -> Diagnosis {
        self.source.diagnosis()
    }
}

/// The writer of the marks, which does nothing without a file. Its clones write to the same file.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    file: Option<Arc<fs::File>>,
}

/// A line of the file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    mark: Mark,
    /// Time of the host's `CLOCK_MONOTONIC`, which its processes share, in microseconds.
    monotonic_us: u64,
}

impl Timeline {
    /// Opens the file at `path` for appending. Without a path, no mark is taken or written.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: Option<&Path>) -> Result<Self, TimelineError> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let opened = std::path::absolute(path)
            .and_then(|path| fs::OpenOptions::new().create(true).append(true).open(path));
        match opened {
            Ok(file) => Ok(Self {
                file: Some(Arc::new(file)),
            }),
            Err(source) => Err(TimelineError {
                path: path.to_owned(),
                source,
            }),
        }
    }

    /// Returns the path of the file, for another process of the same start.
    pub fn path(&self) -> Option<&Path> {
        Some(self.file.as_ref()?.path())
    }

    /// Records that the start has now reached this stage.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn mark(&self, mark: Mark) -> Result<(), TimelineError> {
        match &self.file {
            Some(file) => put(file, mark, now_us()),
            None => Ok(()),
        }
    }

    /// Records the agent's answer, which has just arrived, and the times of the guest's boot in it.
    /// The answer's way back counts as no time. An older agent does not report when it answered.
    ///
    /// # Errors
    /// If the timeline cannot be written.
    pub fn mark_answer(&self, answer: &HelloReply) -> Result<(), TimelineError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let now_us = now_us();
        if let Some(answered_us) = answer.answered_us {
            for (mark, uptime_us) in [
                (Mark::Kernel, 0),
                (Mark::AgentMain, answer.agent_started_us),
                (Mark::MountsDone, answer.mounts_done_us),
            ] {
                let ago_us = answered_us.saturating_sub(uptime_us);
                put(file, mark, now_us.saturating_sub(ago_us))?;
            }
        }
        put(file, Mark::AgentAnswered, now_us)
    }
}

/// Writes a line with one call, so that lines of several processes do not mix.
fn put(file: &fs::File, mark: Mark, monotonic_us: u64) -> Result<(), TimelineError> {
    let line = Line { mark, monotonic_us };
    let written = serde_json::to_string(&line)
        .map_err(io::Error::from)
        .and_then(|line| file.file().write_all(format!("{line}\n").as_bytes()));
    written.map_err(|source| TimelineError {
        path: file.path().to_owned(),
        source,
    })
}

fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000)
        .saturating_add(nanoseconds / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> Vec<Line> {
        let text = fs::read_to_string(path).expect("readable");
        let line = |line: &str| serde_json::from_str(line).expect("a line of JSON");
        text.lines().map(line).collect()
    }

    #[test]
    fn marks_of_two_processes_stand_in_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("timeline");
        let first = Timeline::open(Some(&path)).expect("opened");
        first.mark(Mark::ProcessUp).expect("written");
        let second = Timeline::open(first.path()).expect("opened");
        second.mark(Mark::MachineProcessUp).expect("written");
        first.mark(Mark::FirstByte).expect("written");
        let lines = lines(&path);
        let marks: Vec<Mark> = lines.iter().map(|line| line.mark).collect();
        assert_eq!(
            marks,
            [Mark::ProcessUp, Mark::MachineProcessUp, Mark::FirstByte]
        );
        assert!(lines.is_sorted_by_key(|line| line.monotonic_us));
    }

    #[test]
    fn a_guests_times_become_the_hosts() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("timeline");
        let timeline = Timeline::open(Some(&path)).expect("opened");
        let mut answer = HelloReply {
            agent_started_us: 300,
            mounts_done_us: 450,
            answered_us: Some(500),
            ..HelloReply::default()
        };
        timeline.mark_answer(&answer).expect("written");
        let lines_now = lines(&path);
        let times: Vec<u64> = lines_now.iter().map(|line| line.monotonic_us).collect();
        let answered = times[3];
        assert_eq!(
            times,
            [500, 200, 50, 0].map(|ago_us| answered - ago_us),
            "{lines_now:?}"
        );
        assert!(lines_now.is_sorted_by_key(|line| line.mark));

        // An older agent does not report when it answered.
        answer.answered_us = None;
        timeline.mark_answer(&answer).expect("written");
        assert_eq!(lines(&path).len(), 5);
    }

    #[test]
    fn nothing_is_written_where_nobody_asks() {
        let timeline = Timeline::open(None).expect("nothing to open");
        timeline.mark(Mark::ProcessUp).expect("nothing to write");
        assert_eq!(timeline.path(), None);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said() {
        let directory = tempfile::tempdir().expect("a directory");
        let error = Timeline::open(Some(directory.path())).expect_err("a directory");
        assert!(error.to_string().contains("timeline"), "{error}");
        let full = Timeline::open(Some(Path::new("/dev/full"))).expect("opened");
        full.mark(Mark::ProcessUp).expect_err("no space");
    }
}
