use std::collections::VecDeque;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use msb_machine_records::{LogReader, LogStream, TextLog};
use msb_runtime::Sandbox as StoredSandbox;
use questions::Records;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::operation::blocking;
use crate::sandboxes::Handle;
use crate::{Error, ErrorKind, Operation};

/// The interval at which a followed log is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
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
}

/// A line of a log, or a part of a long one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogRecord {
    /// Time of arrival, in nanoseconds since the epoch; `None` for console and machine.
    pub time_ns: Option<u64>,
    /// The stream that the output came from; `None` for console and machine.
    pub stream: Option<OutputStream>,
    /// The bytes, with the end of the line.
    #[serde(skip)]
    pub data: Bytes,
}

/// A stream of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogRecord {
    /// Returns the line as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.data)
    }
}

/// A log that is not open yet: options to set, then `.await`.
#[derive(Debug, Clone)]
#[must_use = "a log is not read until it is awaited"]
pub struct LogsRequest {
    handle: Arc<Handle>,
    options: LogOptions,
}

impl LogsRequest {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self {
            handle,
            options: LogOptions::default(),
        }
    }

    /// Goes on until the sandbox, or the job, has ended.
    pub fn follow(mut self, follow: bool) -> Self {
        self.options.follow = follow;
        self
    }

    /// Begins with this number of the last records.
    pub fn tail(mut self, records: usize) -> Self {
        self.options.tail = Some(records);
        self
    }

    /// Sets the log to read.
    pub fn source(mut self, source: LogSource) -> Self {
        self.options.source = source;
        self
    }

    /// Reads the output of a job.
    pub fn job(mut self, id: u64) -> Self {
        self.options.job = Some(id);
        self
    }

    /// Replaces all options.
    pub fn with(mut self, options: LogOptions) -> Self {
        self.options = options;
        self
    }
}

impl IntoFuture for LogsRequest {
    type Output = Result<Logs, Error>;
    type IntoFuture = Operation<Logs>;

    fn into_future(self) -> Operation<Logs> {
        Operation::new(async move {
            let stored = self.handle.stored();
            let options = self.options;
            let log = blocking(move || Log::open(stored, options)).await?;
            Ok(Logs {
                state: Mutex::new(Reading::new(log)),
            })
        })
    }
}

/// The records of a log.
#[derive(Debug)]
pub struct Logs {
    state: Mutex<Reading>,
}

#[derive(Debug)]
struct Reading {
    /// The log; `None` while it is read, and once its end was reached.
    log: Option<Log>,
    /// The read that is under way. It is kept here, so that a cancelled wait for it loses nothing.
    pending: Option<JoinHandle<Result<(Log, Batch), Error>>>,
    waiting: VecDeque<LogRecord>,
}

impl Reading {
    const fn new(log: Log) -> Self {
        Self {
            log: Some(log),
            pending: None,
            waiting: VecDeque::new(),
        }
    }

    /// Reads the next records and returns true, unless the end was reached before.
    async fn read(&mut self) -> Result<bool, Error> {
        if let Some(mut log) = self.log.take() {
            self.pending = Some(spawn_blocking(move || {
                log.batch().map(|batch| (log, batch))
            }));
        }
        let Some(pending) = &mut self.pending else {
            return Ok(false);
        };
        let read = pending.await;
        self.pending = None;
        let (log, batch) = read.map_err(|_| Error::internal("the log was not read"))??;
        let is_to_wait = batch.records.is_empty() && log.options.follow;
        self.waiting.extend(batch.records);
        if !batch.is_last {
            self.log = Some(log);
            if is_to_wait {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Ok(true)
    }
}

impl Logs {
    /// Returns the next record; `None` at the end. Waits for one if the log is followed. A call that
    /// is cancelled loses no record.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn next(&self) -> Result<Option<LogRecord>, Error> {
        let mut state = self.state.lock().await;
        loop {
            if let Some(record) = state.waiting.pop_front() {
                return Ok(Some(record));
            }
            if !state.read().await? {
                return Ok(None);
            }
        }
    }
}

/// An open log.
#[derive(Debug)]
struct Log {
    sandbox: StoredSandbox,
    options: LogOptions,
    source: Source,
    /// True once the records of the beginning were read.
    is_begun: bool,
}

#[derive(Debug)]
enum Source {
    Output(Box<LogReader>),
    Text(Box<TextLog>),
    Asks(Box<Records>),
}

/// Records that were read together.
#[derive(Debug, Default)]
struct Batch {
    records: VecDeque<LogRecord>,
    /// True if no record follows.
    is_last: bool,
}

impl Log {
    fn open(sandbox: StoredSandbox, options: LogOptions) -> Result<Self, Error> {
        let is_of_records =
            options.job.is_some() || options.since_ns.is_some() || options.until_ns.is_some();
        if is_of_records && options.source != LogSource::Output {
            let message =
                "--since, --until, --timestamps and --job can be used only with --source output";
            return Err(Error::invalid(message));
        }
        let source = match (options.source, options.job) {
            (LogSource::Console, _) => Source::Text(Box::new(ending_here(sandbox.console()?)?)),
            (LogSource::Machine, _) => Source::Text(Box::new(ending_here(sandbox.machine_log()?)?)),
            (LogSource::Asks, _) => Source::Asks(Box::new(Records::open(&sandbox.files.asks())?)),
            (LogSource::Output, None) => Source::Output(Box::new(sandbox.output()?)),
            (LogSource::Output, Some(id)) => {
                let name = &sandbox.spec.name;
                if sandbox.job(id)?.is_none() {
                    let message = format!("sandbox {name} has no job {id}");
                    return Err(Error::new(ErrorKind::JobNotFound, message)
                        .with_detail("name", name.as_str())
                        .with_detail("id", id));
                }
                Source::Output(Box::new(sandbox.job_output(id)?))
            }
        };
        Ok(Self {
            sandbox,
            options,
            source,
            is_begun: false,
        })
    }

    /// Reads the next records, without waiting.
    fn batch(&mut self) -> Result<Batch, Error> {
        if !self.is_begun {
            self.is_begun = true;
            if let Some(count) = self.options.tail {
                return self.tail(count);
            }
        }
        // The state is read first, so that the last output is in the log once the command has
        // ended.
        let goes_on = self.options.follow && self.goes_on()?;
        let mut batch = Batch::default();
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
    fn tail(&mut self, count: usize) -> Result<Batch, Error> {
        let goes_on = self.options.follow;
        let mut batch = Batch::default();
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
        if goes_on {
            self.continues();
        } else {
            batch.is_last = true;
            batch.records.extend(self.rest());
        }
        Ok(batch)
    }

    /// Lets a log that was limited to its end go on. Returns true if there may be more.
    fn continues(&mut self) -> bool {
        match &mut self.source {
            Source::Text(log) if self.options.follow && !log.goes_on() => {
                log.go_on();
                true
            }
            Source::Asks(records) if self.options.follow && !records.goes_on() => {
                records.go_on();
                true
            }
            Source::Text(_) | Source::Output(_) | Source::Asks(_) => false,
        }
    }

    /// Returns the text after the last line of a log of text.
    fn rest(&mut self) -> Option<LogRecord> {
        match &mut self.source {
            Source::Text(log) => log.rest().map(|line| of_text(&line)),
            Source::Output(_) | Source::Asks(_) => None,
        }
    }

    fn record(&mut self) -> Result<Option<LogRecord>, Error> {
        match &mut self.source {
            Source::Text(log) => Ok(log.next_line()?.map(|line| of_text(&line))),
            Source::Asks(records) => Ok(match records.next_record()? {
                Some(record) => Some(LogRecord {
                    time_ns: Some(record.time_ns),
                    ..of_text(&serde_json::to_string(&record)?)
                }),
                None => None,
            }),
            Source::Output(reader) => loop {
                let Some(record) = reader.next_record()? else {
                    return Ok(None);
                };
                let time_ns = record.time_ns;
                // A later record may be older, if the host's clock was set.
                let is_old = self.options.since_ns.is_some_and(|since| time_ns < since);
                let is_new = self.options.until_ns.is_some_and(|until| time_ns >= until);
                if !is_old && !is_new {
                    return Ok(Some(LogRecord {
                        time_ns: Some(time_ns),
                        stream: Some(match record.stream {
                            LogStream::Stdout => OutputStream::Stdout,
                            LogStream::Stderr => OutputStream::Stderr,
                        }),
                        data: record.bytes.into(),
                    }));
                }
            },
        }
    }

    fn goes_on(&self) -> Result<bool, Error> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        if self.options.until_ns.is_some_and(|until| until <= now_ns) {
            return Ok(false);
        }
        Ok(match self.options.job {
            Some(id) => self.sandbox.job(id)?.is_some_and(|job| job.running),
            None => self.sandbox.state()?.is_up(),
        })
    }
}

/// Limits reading to the log's present end: a guest may write faster than it is read.
fn ending_here(mut log: TextLog) -> Result<TextLog, Error> {
    log.end_here()?;
    Ok(log)
}

fn of_text(line: &str) -> LogRecord {
    LogRecord {
        time_ns: None,
        stream: None,
        data: Bytes::from(format!("{line}\n")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::testing::stopped_sandbox;

    #[tokio::test]
    async fn questions_are_followed_into_a_new_file_of_the_journal() {
        let (_home, sandbox) = stopped_sandbox().await;
        let stored = sandbox.handle().stored();
        std::fs::create_dir_all(stored.files.written()).expect("made");
        let mut journal = questions::Journal::open(&stored.files.asks()).expect("opened");
        let mut options = LogOptions::default();
        (options.follow, options.source) = (true, LogSource::Asks);
        let mut log = Log::open(stored, options).expect("opened");
        let reason = "\0".repeat(questions::REASON_MAX_BYTES);
        // Each file takes fewer than 100 of these.
        for id in 1..250 {
            let question = questions::Question::new(questions::Kind::Path, "/work/.env", &reason);
            let question = question.expect("one").numbered(id);
            let event = questions::Event::Asked(question);
            journal.add(&event).expect("written");
            let batch = log.batch().expect("read");
            assert_eq!(batch.records.len(), 1, "question {id}");
        }
    }

    #[tokio::test]
    async fn a_cancelled_wait_for_a_record_loses_none() {
        let (_home, sandbox) = stopped_sandbox().await;
        let console = sandbox.handle().stored().directory().join("console.log");
        std::fs::write(console, "one\ntwo\nthree").expect("written");
        let logs = sandbox.logs().source(LogSource::Console).await;
        let logs = logs.expect("opened");
        let mut lines = String::new();
        loop {
            // The first waits are cancelled while the log is read.
            match timeout(Duration::ZERO, logs.next()).await {
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
                Ok(record) => match record.expect("read") {
                    Some(record) => lines.push_str(&record.text()),
                    None => break,
                },
            }
        }
        assert_eq!(lines, "one\ntwo\nthree\n");
    }
}
