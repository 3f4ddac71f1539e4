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
mod tests {
    use bytes::Bytes;
    use fs_err as fs;

    use super::*;
    use crate::json_lines::older;

    fn read_all(reader: &mut LogReader) -> Vec<Bytes> {
        std::iter::from_fn(|| reader.next_record().expect("read"))
            .map(|record| record.data)
            .collect()
    }

    #[test]
    fn output_of_any_bytes_comes_back_by_lines() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("output.log");
        let mut writer = LogWriter::create(&path).expect("created");
        let mut reader = LogReader::open(&path).expect("opened");
        assert!(reader.next_record().expect("read").is_none());
        writer
            .add(LogStream::Stdout, b"one\ntwo\n")
            .expect("written");
        writer
            .add(LogStream::Stderr, b"\xff\0 no end")
            .expect("written");
        let first = reader.next_record().expect("read").expect("there");
        assert_eq!(
            (first.stream, &first.data[..]),
            (Some(LogStream::Stdout), &b"one\n"[..])
        );
        assert_eq!(read_all(&mut reader), [&b"two\n"[..], b"\xff\0 no end"]);
        let long = vec![b'x'; RECORD_MAX_BYTES + 1];
        writer.add(LogStream::Stdout, &long).expect("written");
        assert_eq!(read_all(&mut reader).concat(), long);
    }

    #[test]
    fn a_file_that_could_not_be_begun_is_begun_later() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("output.log");
        let mut writer = LogWriter::with_limit(&path, 100).expect("created");
        writer.add(LogStream::Stdout, &[b'a'; 60]).expect("written");
        // There was no more room after the rename.
        fs::rename(&path, older(&path)).expect("renamed");
        writer.add(LogStream::Stdout, &[b'b'; 60]).expect("written");
        let mut reader = LogReader::open(&path).expect("opened");
        assert_eq!(read_all(&mut reader), [&[b'a'; 60][..], &[b'b'; 60]]);
    }

    #[test]
    fn a_log_stays_small_and_a_reader_follows_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("output.log");
        let mut writer = LogWriter::with_limit(&path, 1000).expect("created");
        let mut reader = LogReader::open(&path).expect("opened");
        reader.go_on();
        let mut followed = Vec::new();
        let line = |number: i32| format!("line {number}\n");
        for number in 0..100 {
            let line = line(number);
            writer
                .add(LogStream::Stdout, line.as_bytes())
                .expect("written");
            followed.extend(read_all(&mut reader));
        }
        assert_eq!(followed, (0..100).map(line).collect::<Vec<_>>());
        let total: u64 = [path.clone(), path.with_extension("log.1")]
            .iter()
            .map(|path| fs::metadata(path).expect("there").len())
            .sum();
        assert!(total <= 2000, "{total}");
        let late = read_all(&mut LogReader::open(&path).expect("opened"));
        assert_eq!(late.last(), Some(&Bytes::from(line(99))));
        assert!(late.len() > 10 && late.len() < 40, "{}", late.len());
    }
}
