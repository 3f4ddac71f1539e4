//! The output of a sandbox's main command, kept for later readers.
//!
//! The files are those of [`json_lines`](crate::json_lines): `output.log`, and `output.log.1` with the older records. A
//! record is one line of output with its end, or a part of a long one; its bytes are stored as text
//! if they are UTF-8, otherwise in base64.

use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use durable_files::now_ns;
use serde::{Deserialize, Serialize};

use crate::json_lines::{LineLimits, LineReader, LineWriter};
use crate::log_record::{LogRecord, LogStream};

/// Most bytes of output in one record.
const RECORD_MAX_BYTES: usize = 16 << 10;
/// The bounds of the log of a main command, and those of reading any log of output: base64 and JSON lengthen a record.
const LIMITS: LineLimits = LineLimits {
    file_bytes: 8 << 20,
    line_bytes: 128 << 10,
};

/// A record as a line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    time_ns: u64,
    stream: LogStream,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// The writer of a log of output.
#[derive(Debug)]
pub struct LogWriter(LineWriter);

impl LogWriter {
    /// Makes an empty log at `path`; an earlier log is removed.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, LIMITS.file_bytes)
    }

    /// Makes an empty log with files of at most `max_bytes`.
    pub fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        LineWriter::create(path, max_bytes).map(Self)
    }

    /// Adds output that has just arrived.
    pub fn add(&mut self, stream: LogStream, bytes: &[u8]) -> io::Result<()> {
        let time_ns = now_ns();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            for part in line.chunks(RECORD_MAX_BYTES) {
                let line = Line::new(time_ns, stream, part);
                self.0.put(&serde_json::to_string(&line)?)?;
            }
        }
        Ok(())
    }
}

impl Line {
    fn new(time_ns: u64, stream: LogStream, bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).ok();
        Self {
            time_ns,
            stream,
            text: text.map(str::to_owned),
            base64: text.is_none().then(|| STANDARD.encode(bytes)),
        }
    }

    fn record(self) -> Option<LogRecord> {
        let bytes = match (self.text, self.base64) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(base64)) => STANDARD.decode(base64).ok()?,
            (None, None) => return None,
        };
        Some(LogRecord {
            time_ns: Some(self.time_ns),
            stream: Some(self.stream),
            data: bytes.into(),
        })
    }
}

/// Reads a log of output from its beginning, and continues as it grows.
#[derive(Debug)]
pub struct LogReader(LineReader);

impl LogReader {
    /// Opens the log at `path`, which need not exist yet. The records have an end, also if others are written
    /// meanwhile.
    ///
    /// # Errors
    /// If the file cannot be opened, or is not a regular one.
    pub fn open(path: &Path) -> io::Result<Self> {
        LineReader::open(path, LIMITS).map(Self)
    }

    /// Follows the log from now on.
    pub const fn go_on(&mut self) {
        self.0.go_on();
    }

    /// Returns true if the log is followed.
    pub const fn goes_on(&self) -> bool {
        self.0.goes_on()
    }

    /// Returns the next record; `None` if there are no more yet.
    /// A line that cannot be parsed, such as one after a crash of the host, is skipped.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<LogRecord>> {
        while let Some(line) = self.0.next_record::<Line>()? {
            if let Some(record) = line.record() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
