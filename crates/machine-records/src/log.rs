use std::collections::VecDeque;
use std::io;
use std::path::Path;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use durable_files::now_ns;
use msb_network::NetworkRecord;
use questions::Record as QuestionRecord;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json_lines::{ASKS_LIMITS, LineReader, NETWORK_LIMITS};
use crate::log_record::LogRecord;
use crate::output_log::LogReader;
use crate::text_log::TextLog;

/// The most records that are read at a time.
const BATCH_MAX: usize = 256;

/// The options of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogOptions {
    /// True to go on until the sandbox, or the job, has ended.
    pub follow: bool,
    /// Number of last records to begin with; all if `None`.
    pub tail: Option<usize>,
    /// The log to read.
    pub source: LogSource,
    /// Number of a job, whose output is read instead of the main command's.
    pub job: Option<u64>,
    /// Only records of this time or later, in nanoseconds since the epoch.
    pub since_ns: Option<u64>,
    /// Only records before this time, in nanoseconds since the epoch.
    pub until_ns: Option<u64>,
    /// Only records of refusals, which the log of the network has.
    pub denied: bool,
}

/// A log of a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LogSource {
    /// The output of the main command, or of a job.
    #[default]
    Output,
    /// The guest's console, since the last start.
    Console,
    /// The messages of the virtual machine's process, since the last start.
    Machine,
    /// The questions of the guest and their ends, as JSON.
    Asks,
    /// The connections of the sandbox and its DNS queries, as JSON.
    Network,
}

/// An option of a log that its source does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogOptionsError {
    /// The log has no times.
    #[error(
        "--since and --until cannot be used with --source console or machine: these have no times"
    )]
    Times,
    /// A job has output only.
    #[error("--job can be used only with --source output")]
    Job,
    /// Only the network refuses.
    #[error("--denied can be used only with --source network")]
    Denied,
}

impl Diagnose for LogOptionsError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument)
    }
}

impl LogOptions {
    /// Checks that the source has what the options ask for.
    ///
    /// # Errors
    /// The first option that it does not have.
    pub const fn check(&self) -> Result<(), LogOptionsError> {
        let has_times = !matches!(self.source, LogSource::Console | LogSource::Machine);
        if !has_times && (self.since_ns.is_some() || self.until_ns.is_some()) {
            return Err(LogOptionsError::Times);
        }
        if self.job.is_some() && !matches!(self.source, LogSource::Output) {
            return Err(LogOptionsError::Job);
        }
        if self.denied && !matches!(self.source, LogSource::Network) {
            return Err(LogOptionsError::Denied);
        }
        Ok(())
    }

    /// Returns true if a record of this time is asked for. A later record may be older, if the host's clock was set.
    fn has(&self, time_ns: Option<u64>) -> bool {
        let is_old = |time_ns: u64| self.since_ns.is_some_and(|since| time_ns < since);
        let is_new = |time_ns: u64| self.until_ns.is_some_and(|until| time_ns >= until);
        time_ns.is_none_or(|time_ns| !is_old(time_ns) && !is_new(time_ns))
    }
}

/// An open log of a sandbox, which is read in parts and never waits.
#[derive(Debug)]
pub struct Log {
    options: LogOptions,
    source: Source,
    /// True once the records of the beginning were read.
    is_begun: bool,
}

#[derive(Debug)]
enum Source {
    Output(Box<LogReader>),
    Text(Box<TextLog>),
    Asks(Box<LineReader>),
    Network(Box<LineReader>),
}

/// Records that were read together.
#[derive(Debug, Default)]
pub struct LogBatch {
    /// The records, the oldest first.
    pub records: VecDeque<LogRecord>,
    /// True if no record follows.
    pub is_last: bool,
}

impl Log {
    const fn new(options: LogOptions, source: Source) -> Self {
        Self {
            options,
            source,
            is_begun: false,
        }
    }

    /// Returns a log of output.
    pub fn of_output(reader: LogReader, options: LogOptions) -> Self {
        Self::new(options, Source::Output(Box::new(reader)))
    }

    /// Returns a log of text. It is read to its present end first: a guest may write faster than it is read.
    ///
    /// # Errors
    /// If the log's length cannot be read.
    pub fn of_text(mut log: TextLog, options: LogOptions) -> io::Result<Self> {
        log.end_here()?;
        Ok(Self::new(options, Source::Text(Box::new(log))))
    }

    /// Opens the journal of questions at `path`, which need not exist.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn of_asks(path: &Path, options: LogOptions) -> io::Result<Self> {
        let reader = LineReader::open(path, ASKS_LIMITS)?;
        Ok(Self::new(options, Source::Asks(Box::new(reader))))
    }

    /// Opens the log of the network at `path`, which need not exist.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn of_network(path: &Path, options: LogOptions) -> io::Result<Self> {
        let reader = LineReader::open(path, NETWORK_LIMITS)?;
        Ok(Self::new(options, Source::Network(Box::new(reader))))
    }

    /// Returns true if the log is followed.
    pub const fn is_followed(&self) -> bool {
        self.options.follow
    }

    /// Reads the next records. `goes_on` is true if the sandbox, or the job, has not ended, as it was before the call:
    /// then the last output is in the log once it has ended.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn batch(&mut self, goes_on: bool) -> io::Result<LogBatch> {
        if !self.is_begun {
            self.is_begun = true;
            if let Some(count) = self.options.tail {
                return self.tail(count);
            }
        }
        let is_over = self.options.until_ns.is_some_and(|until| until <= now_ns());
        let goes_on = self.options.follow && goes_on && !is_over;
        let mut batch = LogBatch::default();
        while batch.records.len() < BATCH_MAX {
            match self.record()? {
                Some(record) => batch.records.push_back(record),
                None if self.continues() => {}
                None => {
                    batch.is_last = !goes_on;
                    break;
                }
            }
        }
        if batch.is_last {
            batch.records.extend(self.rest());
        }
        Ok(batch)
    }

    /// Reads the last records of the log so far.
    fn tail(&mut self, count: usize) -> io::Result<LogBatch> {
        let mut batch = LogBatch::default();
        while let Some(record) = self.record()? {
            // A count beyond the log's bounded length needs no limit of its own.
            if batch.records.len() >= count.max(1) {
                batch.records.pop_front();
            }
            batch.records.push_back(record);
        }
        if count == 0 {
            batch.records.clear();
        }
        if self.options.follow {
            self.continues();
        } else {
            batch.is_last = true;
            batch.records.extend(self.rest());
        }
        Ok(batch)
    }

    /// Lets a log of text that was limited to its end go on. Returns true if there may be more.
    fn continues(&mut self) -> bool {
        match &mut self.source {
            Source::Text(log) if self.options.follow && !log.goes_on() => {
                log.go_on();
                true
            }
            _ => false,
        }
    }

    /// Returns the text after the last line of a log of text.
    fn rest(&mut self) -> Option<LogRecord> {
        match &mut self.source {
            Source::Text(log) => log.rest().map(|line| LogRecord::of_line(None, &line)),
            _ => None,
        }
    }

    /// Returns the next record that is asked for.
    fn record(&mut self) -> io::Result<Option<LogRecord>> {
        let Self {
            options, source, ..
        } = self;
        loop {
            let record = match source {
                Source::Text(log) => {
                    let line = log.next_line()?;
                    line.map(|line| LogRecord::of_line(None, &line))
                }
                Source::Output(reader) => reader.next_record()?,
                Source::Asks(reader) => {
                    next(reader, |record: &QuestionRecord| Some(Some(record.time_ns)))?
                }
                Source::Network(reader) => next(reader, |record: &NetworkRecord| {
                    (!options.denied || record.is_denied()).then(|| record.time_ns())
                })?,
            };
            match record {
                Some(record) if !options.has(record.time_ns) => {}
                record => return Ok(record),
            }
        }
    }
}

/// Returns the next record of a log of values, as a line of JSON without hidden characters. `choose` returns the
/// record's time; `None` leaves it out.
fn next<T: DeserializeOwned + Serialize>(
    reader: &mut LineReader,
    choose: impl Fn(&T) -> Option<Option<u64>>,
) -> io::Result<Option<LogRecord>> {
    while let Some(value) = reader.next_record::<T>()? {
        if let Some(time_ns) = choose(&value) {
            // The file is hostile: what is passed on is what was read of it.
            let json = serde_json::to_string(&value)?;
            let line = terminal_text::escaped_json(&json);
            return Ok(Some(LogRecord::of_line(time_ns, &line)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    const NETWORK: &str = r#"
{"time":"2026-11-27T02:41:03.120Z","event":"connect","flow":1,"proto":"tcp","name":"a.test","address":"203.0.113.9","port":443,"verdict":"allowed","rule":"outbound"}
{"time":"2026-11-27T02:41:04.120Z","event":"dns","name":"b.test","type":"A","verdict":"denied","rule":"listed","code":"NXDOMAIN"}
{"time":"2026-11-27T02:41:05.120Z","event":"close","flow":1,"sent":1,"received":2,"ms":3,"end":"guest"}
{"time":"2026-11-27T02:41:06.120Z","event":"invented","by":"a guest"}
"#;

    fn events(options: LogOptions) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("network.jsonl");
        fs::write(&path, NETWORK).expect("written");
        let mut log = Log::of_network(&path, options).expect("opened");
        let batch = log.batch(false).expect("read");
        assert!(batch.is_last);
        let event = |record: LogRecord| {
            let value: serde_json::Value = serde_json::from_slice(&record.data).expect("JSON");
            assert!(record.time_ns.is_some() && record.data.ends_with(b"\n"));
            value["event"].as_str().expect("an event").to_owned()
        };
        batch.records.into_iter().map(event).collect()
    }

    #[test]
    fn records_of_the_network_are_chosen_by_time_and_verdict() {
        let second = |second: u64| Some((1_795_747_260 + second) * 1_000_000_000);
        assert_eq!(events(LogOptions::default()), ["connect", "dns", "close"]);
        let denied = LogOptions {
            denied: true,
            ..LogOptions::default()
        };
        assert_eq!(events(denied), ["dns"]);
        let dated = LogOptions {
            since_ns: second(4),
            until_ns: second(5),
            ..LogOptions::default()
        };
        assert_eq!(events(dated), ["dns"]);
        let last = LogOptions {
            tail: Some(1),
            ..LogOptions::default()
        };
        assert_eq!(events(last), ["close"]);
    }

    #[test]
    fn a_source_has_only_the_options_that_it_can_follow() {
        let options = |source| LogOptions {
            source,
            ..LogOptions::default()
        };
        let dated = LogOptions {
            since_ns: Some(1),
            ..options(LogSource::Console)
        };
        assert_eq!(dated.check(), Err(LogOptionsError::Times));
        let job = LogOptions {
            job: Some(1),
            ..options(LogSource::Network)
        };
        assert_eq!(job.check(), Err(LogOptionsError::Job));
        let denied = LogOptions {
            denied: true,
            ..options(LogSource::Asks)
        };
        assert_eq!(denied.check(), Err(LogOptionsError::Denied));
        let network = LogOptions {
            since_ns: Some(1),
            denied: true,
            ..options(LogSource::Network)
        };
        assert_eq!(network.check(), Ok(()));
    }
}
