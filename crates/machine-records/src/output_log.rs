//! The output of a sandbox's main command, kept for later readers.
//!
//! There are two files of JSON lines: `output.log`, and `output.log.1` with the older records. A
//! record is one line of output with its end, or a part of a long one; its bytes are stored as text
//! if they are UTF-8, otherwise in base64. Together the files hold at most twice
//! [`FILE_MAX_BYTES`].

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::untrusted_file;

/// Size limit of one file, in bytes.
const FILE_MAX_BYTES: u64 = 8 << 20;
/// Most bytes of output in one record.
const RECORD_MAX_BYTES: usize = 16 << 10;
/// The longest line of a log that is read: base64 and JSON lengthen a record.
const LINE_MAX_BYTES: u64 = 128 << 10;

/// A stream of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error of the command.
    Stderr,
}

/// A line of output, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Time of arrival, in nanoseconds since the epoch.
    pub time_ns: u64,
    /// The stream that the output came from.
    pub stream: LogStream,
    /// The output, with the end of the line.
    pub bytes: Vec<u8>,
}

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

/// The writer of a log.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    file: fs::File,
    length_bytes: u64,
    max_bytes: u64,
}

impl LogWriter {
    /// Makes an empty log at `path`; an earlier log is removed.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, FILE_MAX_BYTES)
    }

    /// Makes an empty log with files of at most `max_bytes`.
    pub fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        untrusted_file::clear(&older(path))?;
        untrusted_file::clear(path)?;
        Ok(Self {
            path: path.to_owned(),
            file: durable_files::create_new(path)?,
            length_bytes: 0,
            max_bytes,
        })
    }

    /// Adds output that has just arrived.
    pub fn add(&mut self, stream: LogStream, bytes: &[u8]) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let time_ns = now.map_or(0, |since| {
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        });
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            for part in line.chunks(RECORD_MAX_BYTES) {
                self.put(&LogRecord {
                    time_ns,
                    stream,
                    bytes: part.to_vec(),
                })?;
            }
        }
        Ok(())
    }

    fn put(&mut self, record: &LogRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line::from_record(record))?;
        line.push(b'\n');
        let length_bytes = line.len() as u64;
        if self.length_bytes + length_bytes > self.max_bytes && self.length_bytes > 0 {
            match fs::rename(&self.path, older(&self.path)) {
                // It was renamed before, and the new file could not be made.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                renamed => renamed?,
            }
            self.file = durable_files::create_new(&self.path)?;
            self.length_bytes = 0;
        }
        // One call per line: a reader sees either all of the line or none of it.
        self.file.write_all(&line)?;
        self.length_bytes += length_bytes;
        Ok(())
    }
}

impl Line {
    fn from_record(record: &LogRecord) -> Self {
        let text = std::str::from_utf8(&record.bytes).ok();
        Self {
            time_ns: record.time_ns,
            stream: record.stream,
            text: text.map(str::to_owned),
            base64: text.is_none().then(|| STANDARD.encode(&record.bytes)),
        }
    }

    fn record(self) -> Option<LogRecord> {
        let bytes = match (self.text, self.base64) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(base64)) => STANDARD.decode(base64).ok()?,
            (None, None) => return None,
        };
        Some(LogRecord {
            time_ns: self.time_ns,
            stream: self.stream,
            bytes,
        })
    }
}

/// A file of a log, read up to the size limit.
type Source = BufReader<io::Take<fs::File>>;

/// Reads a log from its beginning, and continues as it grows.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    /// The file that is read; the current one unless `is_older`.
    file: Option<Source>,
    /// The beginning of a line that is not complete yet.
    begun: Vec<u8>,
    is_older: bool,
}

impl LogReader {
    /// Opens the log at `path`, which need not exist yet.
    ///
    /// # Errors
    /// If the file cannot be opened, or is not a regular one.
    pub fn open(path: &Path) -> io::Result<Self> {
        let older = open(&older(path))?;
        Ok(Self {
            path: path.to_owned(),
            is_older: older.is_some(),
            file: older,
            begun: Vec::new(),
        })
    }

    /// Returns the next record; `None` if there are no more yet.
    /// A line that cannot be parsed, such as one after a crash of the host, is skipped.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<LogRecord>> {
        loop {
            let line = match self.line()? {
                Some(line) => line,
                None if self.is_older || self.is_outdated()? => match self.line()? {
                    // The line was written just before the file was renamed.
                    Some(line) => line,
                    None if self.turn_over()? => continue,
                    None => return Ok(None),
                },
                None => return Ok(None),
            };
            let parsed = serde_json::from_slice::<Line>(&line).ok();
            if let Some(record) = parsed.and_then(Line::record) {
                return Ok(Some(record));
            }
        }
    }

    /// Returns a complete line; `None` if there is none yet.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let room_bytes = LINE_MAX_BYTES.saturating_sub(self.begun.len() as u64);
        file.take(room_bytes).read_until(b'\n', &mut self.begun)?;
        let is_whole = self.begun.ends_with(b"\n") || self.begun.len() as u64 >= LINE_MAX_BYTES;
        Ok(is_whole.then(|| std::mem::take(&mut self.begun)))
    }

    /// Continues with the current file. Returns false if it does not exist.
    /// A reader that is more than a file behind misses the removed records.
    fn turn_over(&mut self) -> io::Result<bool> {
        let Some(current) = open(&self.path)? else {
            return Ok(false);
        };
        self.file = Some(current);
        self.is_older = false;
        self.begun.clear();
        Ok(true)
    }

    /// Returns true if the file that is read has been renamed, or does not exist yet.
    fn is_outdated(&self) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        let Some(file) = &self.file else {
            return Ok(true);
        };
        let read = file.get_ref().get_ref().metadata()?;
        match fs::symlink_metadata(&self.path) {
            Ok(named) => Ok((named.dev(), named.ino()) != (read.dev(), read.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

fn open(path: &Path) -> io::Result<Option<Source>> {
    let file = untrusted_file::open(path)?;
    Ok(file.map(|file| BufReader::new(file.take(FILE_MAX_BYTES))))
}

#[cfg(test)]
mod tests;
