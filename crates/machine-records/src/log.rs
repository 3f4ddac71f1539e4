use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::path::Path;

use durable_files::now_ns;
use msb_network::NetworkRecord;
use serde::Serialize;
use terminal_text::{ascii_json, escaped_json};

use crate::json_lines::{LineReader, NETWORK_LIMITS};
use crate::log_options::LogOptions;
use crate::log_record::LogRecord;
use crate::output_log::LogReader;
use crate::question_records::QuestionRecords;
use crate::text_log::TextLog;

/// The most records that are read at a time.
const BATCH_MAX: usize = 256;

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
    Asks(Box<QuestionRecords>),
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
        let records = QuestionRecords::open(path)?;
        Ok(Self::new(options, Source::Asks(Box::new(records))))
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

    /// Lets a followed log that was limited to its end go on. Returns true if there may be more.
    fn continues(&mut self) -> bool {
        if !self.options.follow || self.source.goes_on() {
            return false;
        }
        self.source.go_on();
        true
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
                Source::Asks(records) => match records.next_record()? {
                    Some(record) => Some(of_value(Some(record.time_ns), &record, escaped_json)?),
                    None => None,
                },
                Source::Network(reader) => match reader.next_record::<NetworkRecord>()? {
                    Some(record) if options.denied && !record.is_denied() => continue,
                    Some(record) => Some(of_value(record.time_ns(), &record, ascii_json)?),
                    None => None,
                },
            };
            match record {
                Some(record) if !options.has(record.time_ns) => {}
                record => return Ok(record),
            }
        }
    }
}

impl Source {
    /// Returns true if the log is not limited to an earlier end.
    fn goes_on(&self) -> bool {
        match self {
            Self::Output(reader) => reader.goes_on(),
            Self::Text(log) => log.goes_on(),
            Self::Asks(records) => records.goes_on(),
            Self::Network(reader) => reader.goes_on(),
        }
    }

    fn go_on(&mut self) {
        match self {
            Self::Output(reader) => reader.go_on(),
            Self::Text(log) => log.go_on(),
            Self::Asks(records) => records.go_on(),
            Self::Network(reader) => reader.go_on(),
        }
    }
}

/// Returns a value as a line of JSON, without the characters that are to be escaped. The file is hostile: what is passed
/// on is what was read of it.
fn of_value(
    time_ns: Option<u64>,
    value: &impl Serialize,
    escape: fn(&str) -> Cow<'_, str>,
) -> io::Result<LogRecord> {
    let json = serde_json::to_string(value)?;
    Ok(LogRecord::of_line(time_ns, &escape(&json)))
}

#[cfg(test)]
mod tests;
