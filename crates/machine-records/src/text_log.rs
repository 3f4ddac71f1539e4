//! The lines of text that a guest's console or the VMM process printed; they are untrusted.

use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use fs_err as fs;

/// Bytes at the end of an existing log that are read; the text before them is skipped.
const TAIL_MAX_BYTES: u64 = 16 << 20;
/// Length limit of a line, in bytes; a longer line is split.
const LINE_MAX_BYTES: u64 = 4096;

/// Length limit of a line that is shown below an error, in characters.
const WORDS_MAX_CHARS: usize = 300;

/// Reads a log line by line, and continues as it grows.
/// Lines are printable: a guest cannot send control characters to a terminal.
#[derive(Debug)]
pub struct TextLog {
    path: PathBuf,
    file: Option<BufReader<fs::File>>,
    begun: Vec<u8>,
    /// Bytes that are still to be read; `None` if there is no limit.
    left_bytes: Option<u64>,
}

impl TextLog {
    /// Opens the log at `path`, which need not exist yet. The beginning of a long log is skipped.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut log = Self {
            path: path.to_owned(),
            file: None,
            begun: Vec::new(),
            left_bytes: None,
        };
        log.find(TAIL_MAX_BYTES)?;
        Ok(log)
    }

    /// Limits reading to the log's present end: a guest may write faster than it is read.
    ///
    /// # Errors
    /// If the log's length cannot be read.
    pub fn end_here(&mut self) -> io::Result<()> {
        self.left_bytes = Some(match &mut self.file {
            Some(file) => {
                let length = file.get_ref().metadata()?.len();
                length.saturating_sub(file.stream_position()?)
            }
            None => 0,
        });
        Ok(())
    }

    /// Lifts the limit of `end_here`.
    pub fn go_on(&mut self) {
        self.left_bytes = None;
    }

    /// Returns true if reading is not limited to an earlier end of the log.
    pub const fn goes_on(&self) -> bool {
        self.left_bytes.is_none()
    }

    /// Returns the next complete line, without its end; `None` if there is none yet.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<String>> {
        if self.file.is_none() && self.left_bytes.is_none() {
            self.find(TAIL_MAX_BYTES)?;
        }
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let room_bytes = LINE_MAX_BYTES.saturating_sub(self.begun.len() as u64);
        let room_bytes = room_bytes.min(self.left_bytes.unwrap_or(u64::MAX));
        let read_bytes = file.take(room_bytes).read_until(b'\n', &mut self.begun)?;
        if let Some(left_bytes) = &mut self.left_bytes {
            *left_bytes = left_bytes.saturating_sub(read_bytes as u64);
        }
        let is_whole = self.begun.ends_with(b"\n") || self.begun.len() as u64 >= LINE_MAX_BYTES;
        Ok(is_whole.then(|| self.take_line()))
    }

    /// Returns the text after the last complete line of an ended log; `None` if it is empty.
    pub fn rest(&mut self) -> Option<String> {
        (!self.begun.is_empty()).then(|| self.take_line())
    }

    fn take_line(&mut self) -> String {
        let bytes = std::mem::take(&mut self.begun);
        printable(bytes.strip_suffix(b"\n").unwrap_or(&bytes))
    }

    fn find(&mut self, tail_bytes: u64) -> io::Result<()> {
        let mut file = match fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let skipped_bytes = length.saturating_sub(tail_bytes);
        file.seek(SeekFrom::Start(skipped_bytes))?;
        let mut file = BufReader::new(file);
        if skipped_bytes > 0 {
            // The rest of a line that began before.
            (&mut file)
                .take(LINE_MAX_BYTES)
                .read_until(b'\n', &mut Vec::new())?;
        }
        self.file = Some(file);
        Ok(())
    }
}

/// Returns the lines in the last `bytes_max` bytes of a log that are not empty.
/// If the log cannot be read, there are none.
pub fn last_lines(path: &Path, bytes_max: u64) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let lines = bytes.split(|&byte| byte == b'\n').map(printable);
    lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.chars().take(WORDS_MAX_CHARS).collect())
        .collect()
}

/// Returns the line as text, with hidden characters other than tabs escaped.
fn printable(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    terminal_text::escaped_lines(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_are_printable_and_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("console.log");
        let mut log = TextLog::open(&path).expect("opened");
        assert_eq!(log.next_line().expect("read"), None);
        let mut file = fs::File::create(&path).expect("created");
        let mut write = |bytes: &[u8]| file.write_all(bytes).expect("written");
        write(b"[    0.1] panic\r\n\x1b]0;title\x07\xff\tend");
        let mut next = || log.next_line().expect("read");
        assert_eq!(next().as_deref(), Some("[    0.1] panic"));
        assert_eq!(next(), None);
        write("ing\u{202e}\n".as_bytes());
        let shown = "\\u{1b}]0;title\\u{7}\u{fffd}\tending\\u{202e}";
        assert_eq!(next().as_deref(), Some(shown));
        write(b"no end");
        assert_eq!(next(), None);
        assert_eq!(log.rest().as_deref(), Some("no end"));
        assert_eq!(log.rest(), None);
    }

    #[test]
    fn one_that_grows_while_it_is_read_has_an_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("console.log");
        fs::write(&path, "one\ntwo\nthr").expect("written");
        let mut log = TextLog::open(&path).expect("opened");
        assert_eq!(log.next_line().expect("read").as_deref(), Some("one"));
        log.end_here().expect("there");
        let mut file = fs::File::options().append(true).open(&path).expect("there");
        let mut lines = 0;
        while log.next_line().expect("read").is_some() {
            file.write_all(b"ee\nmore\n").expect("written");
            lines += 1;
            assert!(lines < 10, "it is followed");
        }
        assert_eq!(lines, 1);
        log.go_on();
        assert_eq!(log.next_line().expect("read").as_deref(), Some("three"));
    }

    #[test]
    fn an_endless_line_and_a_long_log_take_little() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("console.log");
        fs::write(&path, vec![b'x'; 10_000]).expect("written");
        let mut log = TextLog::open(&path).expect("opened");
        let first = log.next_line().expect("read").expect("a part");
        assert_eq!(first.len(), 4096);
        let file = fs::File::create(&path).expect("created");
        file.set_len(TAIL_MAX_BYTES * 4).expect("made long");
        drop(file);
        let mut log = TextLog::open(&path).expect("opened");
        let mut lines = 0;
        while log.next_line().expect("read").is_some() {
            lines += 1;
        }
        assert!(lines <= TAIL_MAX_BYTES / LINE_MAX_BYTES, "{lines}");
    }

    #[test]
    fn the_last_words_are_few() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("vmm.log");
        assert!(last_lines(&path, 100).is_empty());
        fs::write(&path, "one\n\ntwo\n\x1bthree\n\n").expect("written");
        assert_eq!(last_lines(&path, 13), ["two", "\\u{1b}three"]);
    }
}
