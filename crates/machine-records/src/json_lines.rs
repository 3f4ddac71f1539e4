//! Records as lines of JSON, in a file and in the full one before it.
//!
//! The full file has the suffix `.1`; when the current file is full, too, it takes its place. Together they hold at
//! most twice the limit of a file. Readers take them for hostile: a line that is no record is left out.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::untrusted_file;

/// The bounds of a log of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineLimits {
    /// The size limit of each of the two files, in bytes.
    pub file_bytes: u64,
    /// The longest line that is read, in bytes.
    pub line_bytes: u64,
}

/// The bounds of the journal of a sandbox's questions. A question of control characters, which JSON writes with six
/// bytes each, is shorter than a line.
pub const ASKS_LIMITS: LineLimits = LineLimits {
    file_bytes: 1 << 20,
    line_bytes: 64 << 10,
};

/// The bounds of the log of a sandbox's network.
pub const NETWORK_LIMITS: LineLimits = LineLimits {
    file_bytes: 16 << 20,
    line_bytes: 8 << 10,
};

/// The writer of a log of lines.
#[derive(Debug)]
pub struct LineWriter {
    path: PathBuf,
    file: fs::File,
    length_bytes: u64,
    max_bytes: u64,
}

impl LineWriter {
    /// Makes an empty log at `path`, with files of at most `max_bytes`; an earlier log is removed.
    ///
    /// # Errors
    /// If the files cannot be removed, or made.
    pub fn create(path: &Path, max_bytes: u64) -> io::Result<Self> {
        untrusted_file::clear(&older(path))?;
        untrusted_file::clear(path)?;
        Ok(Self {
            path: path.to_owned(),
            file: durable_files::create_new(path)?,
            length_bytes: 0,
            max_bytes,
        })
    }

    /// Continues the log at `path`, which is made if it does not exist. Something else that is no regular file is
    /// removed.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => untrusted_file::clear(path)?,
            _ => {}
        }
        let mut file = untrusted_file::open_to_append(path)?;
        let mut length_bytes = file.metadata()?.len();
        let mut last = [b'\n'];
        if let Some(offset) = length_bytes.checked_sub(1) {
            file.file().read_exact_at(&mut last, offset)?;
        }
        if last != *b"\n" {
            // The writer before was killed within a line, which no record is to join.
            file.write_all(b"\n")?;
            length_bytes += 1;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            length_bytes,
            max_bytes,
        })
    }

    /// Adds a record. Its line has no character that a terminal or a splitter of lines could act on.
    ///
    /// # Errors
    /// If the file cannot be written. The next record is tried again.
    pub fn add(&mut self, record: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(record)?;
        self.put(&terminal_text::escaped_json(&json))
    }

    /// Adds a line of JSON.
    pub(crate) fn put(&mut self, json: &str) -> io::Result<()> {
        let line = format!("{json}\n");
        let line_bytes = line.len() as u64;
        if self.length_bytes > 0 && self.length_bytes + line_bytes > self.max_bytes {
            fs::rename(&self.path, older(&self.path))?;
            self.file = durable_files::create_new(&self.path)?;
            self.length_bytes = 0;
        }
        // One call per line: a reader sees either all of the line or none of it.
        let written = self.file.write_all(line.as_bytes());
        if written.is_err() {
            // The part of a line that a full disk has taken. If this fails, too, readers skip it.
            let _ = self.file.set_len(self.length_bytes);
            return written;
        }
        self.length_bytes += line_bytes;
        Ok(())
    }
}

/// A file of a log, read up to the size limit.
type Source = BufReader<io::Take<fs::File>>;

/// Reads a log of lines from its beginning, and continues as it grows.
#[derive(Debug)]
pub struct LineReader {
    path: PathBuf,
    limits: LineLimits,
    /// The file that is read; the current one unless `is_older`.
    file: Option<Source>,
    /// The beginning of a line that is not complete yet.
    begun: Vec<u8>,
    is_older: bool,
}

impl LineReader {
    /// Opens the log at `path`, which need not exist yet.
    ///
    /// # Errors
    /// If the file cannot be opened, or is not a regular one.
    pub fn open(path: &Path, limits: LineLimits) -> io::Result<Self> {
        let older = open(&older(path), limits)?;
        Ok(Self {
            path: path.to_owned(),
            limits,
            is_older: older.is_some(),
            file: older,
            begun: Vec::new(),
        })
    }

    /// Returns the next record; `None` if there are no more yet. A line that is no such record is left out.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn next_record<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        while let Some(line) = self.next_line()? {
            if let Ok(record) = serde_json::from_slice(&line) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Returns the next complete line, or a part of one that is too long; `None` if there is none yet.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            if !self.is_older && !self.is_outdated()? {
                return Ok(None);
            }
            // A line may have been written just before the file was renamed.
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            if !self.turn_over()? {
                return Ok(None);
            }
        }
    }

    /// Returns the next line of the file that is read; `None` if there is none yet.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let max_bytes = self.limits.line_bytes;
        let room_bytes = max_bytes.saturating_sub(self.begun.len() as u64);
        file.take(room_bytes).read_until(b'\n', &mut self.begun)?;
        let is_whole = self.begun.ends_with(b"\n") || self.begun.len() as u64 >= max_bytes;
        Ok(is_whole.then(|| std::mem::take(&mut self.begun)))
    }

    /// Continues with the current file. Returns false if it does not exist.
    /// A reader that is more than a file behind misses the removed records.
    fn turn_over(&mut self) -> io::Result<bool> {
        let Some(current) = open(&self.path, self.limits)? else {
            return Ok(false);
        };
        self.file = Some(current);
        self.is_older = false;
        self.begun.clear();
        Ok(true)
    }

    /// Returns true if the file that is read has been renamed, or does not exist yet.
    fn is_outdated(&self) -> io::Result<bool> {
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
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

fn open(path: &Path, limits: LineLimits) -> io::Result<Option<Source>> {
    let file = untrusted_file::open(path)?;
    Ok(file.map(|file| BufReader::new(file.take(limits.file_bytes))))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const LIMITS: LineLimits = LineLimits {
        file_bytes: 1000,
        line_bytes: 100,
    };

    fn all(reader: &mut LineReader) -> Vec<Value> {
        std::iter::from_fn(|| reader.next_record().expect("read")).collect()
    }

    fn read(path: &Path) -> Vec<Value> {
        all(&mut LineReader::open(path, LIMITS).expect("opened"))
    }

    #[test]
    fn a_log_goes_on_after_a_restart_and_within_a_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        assert_eq!(read(&path), Vec::<Value>::new());
        for number in 0..3 {
            let mut writer = LineWriter::open(&path, LIMITS.file_bytes).expect("opened");
            writer.add(&json!({ "n": number })).expect("written");
            let mut file = fs::File::options().append(true).open(&path).expect("there");
            file.write_all(b"{\"n\":").expect("written");
        }
        let expected = (0..3).map(|number| json!({ "n": number }));
        assert_eq!(read(&path), expected.collect::<Vec<_>>());
        let mut writer = LineWriter::create(&path, LIMITS.file_bytes).expect("made anew");
        writer.add(&json!(7)).expect("written");
        assert_eq!(read(&path), [json!(7)]);
    }

    #[test]
    fn no_text_ends_a_line_or_reaches_a_terminal() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        let mut writer = LineWriter::open(&path, LIMITS.file_bytes).expect("opened");
        let hostile = json!("a\n\r\u{1b}\u{7f}\u{85}\u{2028}\u{202e}");
        writer.add(&hostile).expect("written");
        let text = fs::read_to_string(&path).expect("read");
        assert!(text.is_ascii(), "{text}");
        assert_eq!(
            text.split(|end: char| end.is_control()).count(),
            2,
            "{text}"
        );
        assert_eq!(read(&path), [hostile]);
    }

    #[test]
    fn a_log_is_bounded_and_followed_over_its_rotation() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        let mut writer = LineWriter::create(&path, LIMITS.file_bytes).expect("created");
        let mut reader = LineReader::open(&path, LIMITS).expect("opened");
        let mut followed = Vec::new();
        for number in 0..500 {
            writer.add(&json!({ "n": number })).expect("written");
            if number % 7 == 0 {
                followed.extend(all(&mut reader));
            }
        }
        followed.extend(all(&mut reader));
        let expected = (0..500).map(|number| json!({ "n": number }));
        assert_eq!(followed, expected.collect::<Vec<_>>());
        for path in [&path, &older(&path)] {
            assert!(fs::metadata(path).expect("there").len() <= LIMITS.file_bytes);
        }
        let late = read(&path);
        assert_eq!(late.last(), Some(&json!({ "n": 499 })));
        assert!(late.len() < 250, "{}", late.len());
    }

    #[test]
    fn lines_that_are_no_records_and_files_that_are_none_do_no_harm() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        let mut text = b"{\nnonsense\n\xff\n".to_vec();
        text.extend(vec![b'x'; 250]);
        text.extend(b"\n{\"n\":1}\n{\"n");
        fs::write(&path, text).expect("written");
        assert_eq!(read(&path), [json!({ "n": 1 })]);
        fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", &path).expect("made");
        assert!(
            LineReader::open(&path, LIMITS)
                .and_then(|mut log| log.next_line())
                .is_err()
        );
        let mut writer = LineWriter::open(&path, LIMITS.file_bytes).expect("it is replaced");
        writer.add(&json!(1)).expect("written");
        assert_eq!(read(&path), [json!(1)]);
    }
}
