use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A line of a log, or a part of a long one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogRecord {
    /// Time of arrival, in nanoseconds since the epoch; `None` for console and machine.
    pub time_ns: Option<u64>,
    /// The stream that the output came from; `None` unless the log is one of output.
    pub stream: Option<LogStream>,
    /// The bytes, with the end of the line.
    #[serde(skip)]
    pub data: Bytes,
}

/// A stream of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogRecord {
    /// Returns a line of text as a record.
    pub(crate) fn of_line(time_ns: Option<u64>, line: &str) -> Self {
        Self {
            time_ns,
            stream: None,
            data: Bytes::from(format!("{line}\n")),
        }
    }

    /// Returns the line as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.data)
    }
}
