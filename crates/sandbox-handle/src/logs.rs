use std::collections::VecDeque;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use msb_client::{Error, ErrorKind, Operation, blocking};
use msb_machine_records::{Log, LogBatch};
pub use msb_machine_records::{LogOptions, LogRecord, LogSource, LogStream as OutputStream};
use msb_runtime::Sandbox as StoredSandbox;
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::Handle;

/// The interval at which a followed log is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A log that is not open yet: options to set, then `.await`.
#[derive(Debug, Clone)]
#[must_use = "a log is not read until it is awaited"]
pub struct LogsRequest {
    handle: Arc<Handle>,
    options: LogOptions,
}

impl LogsRequest {
    /// Returns a request for the output of the main command.
    pub fn new(handle: Arc<Handle>) -> Self {
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

    /// Reads only refusals, which the log of the network has.
    pub fn denied(mut self, denied: bool) -> Self {
        self.options.denied = denied;
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
            let log = blocking(move || OpenLog::open(stored, options)).await?;
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
    log: Option<OpenLog>,
    /// The read that is under way. It is kept here, so that a cancelled wait for it loses nothing.
    pending: Option<JoinHandle<Result<(OpenLog, LogBatch), Error>>>,
    waiting: VecDeque<LogRecord>,
}

impl Reading {
    const fn new(log: OpenLog) -> Self {
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
        let is_to_wait = batch.records.is_empty() && log.records.is_followed();
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
struct OpenLog {
    sandbox: StoredSandbox,
    /// The job whose output it is.
    job: Option<u64>,
    records: Log,
}

impl OpenLog {
    fn open(sandbox: StoredSandbox, options: LogOptions) -> Result<Self, Error> {
        options.check()?;
        let (job, files) = (options.job, &sandbox.files);
        let records = match (options.source, job) {
            (LogSource::Console, _) => Log::of_text(sandbox.console()?, options)?,
            (LogSource::Machine, _) => Log::of_text(sandbox.machine_log()?, options)?,
            (LogSource::Asks, _) => Log::of_asks(&files.asks(), options)?,
            (LogSource::Network, _) => Log::of_network(&files.network_log(), options)?,
            (_, None) => Log::of_output(sandbox.output()?, options),
            (_, Some(id)) => {
                let name = &sandbox.spec.name;
                if sandbox.job(id)?.is_none() {
                    let message = format!("sandbox {name} has no job {id}");
                    return Err(Error::new(ErrorKind::JobNotFound, message)
                        .with_detail("name", name.as_str())
                        .with_detail("id", id));
                }
                Log::of_output(sandbox.job_output(id)?, options)
            }
        };
        Ok(Self {
            sandbox,
            job,
            records,
        })
    }

    /// Reads the next records, without waiting.
    fn batch(&mut self) -> Result<LogBatch, Error> {
        // The state is read first, so that the last output is in the log once the command has ended.
        let goes_on = self.records.is_followed() && self.goes_on()?;
        Ok(self.records.batch(goes_on)?)
    }

    fn goes_on(&self) -> Result<bool, Error> {
        Ok(match self.job {
            Some(id) => self.sandbox.job(id)?.is_some_and(|job| job.running),
            None => self.sandbox.state()?.is_up(),
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::testing::stopped_sandbox;

    #[tokio::test]
    async fn a_cancelled_wait_for_a_record_loses_none() {
        let (_home, handle) = stopped_sandbox();
        let console = handle.stored().directory().join("console.log");
        std::fs::write(console, "one\ntwo\nthree").expect("written");
        let logs = LogsRequest::new(handle).source(LogSource::Console).await;
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
