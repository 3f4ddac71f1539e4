use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;

use crate::{Event, Record};

/// The size limit of one file of a journal, in bytes. There are two: the current one, and the older records in
/// a file with the suffix `.1`.
pub const FILE_MAX_BYTES: u64 = 1 << 20;
/// The longest line that is read. A question of control characters, which JSON writes with six bytes each, is
/// shorter.
const LINE_MAX_BYTES: u64 = 64 << 10;

/// The journal of the questions of a sandbox, as it is written. Each record is one line of JSON.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: fs::File,
    length_bytes: u64,
    max_bytes: u64,
}

impl Journal {
    /// Opens the journal at `path`, which is created if it does not exist. Something else that is no regular
    /// file is removed.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, FILE_MAX_BYTES)
    }

    fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path)?,
            Ok(found) if !found.is_file() => fs::remove_file(path)?,
            _ => {}
        }
        let file = append(path)?;
        Ok(Self {
            length_bytes: file.metadata()?.len(),
            path: path.to_owned(),
            file,
            max_bytes,
        })
    }

    /// Adds an event of this moment.
    ///
    /// # Errors
    /// If the file cannot be written. The next event is tried again.
    pub fn add(&mut self, event: &Event) -> io::Result<()> {
        let record = Record {
            time_ns: now_ns(),
            event: event.clone(),
        };
        let mut line = serde_json::to_vec(&record)?;
        line.push(b'\n');
        let length_bytes = line.len() as u64;
        if self.length_bytes > 0 && self.length_bytes + length_bytes > self.max_bytes {
            fs::rename(&self.path, older(&self.path))?;
            self.file = append(&self.path)?;
            self.length_bytes = 0;
        }
        self.file.write_all(&line)?;
        self.length_bytes += length_bytes;
        Ok(())
    }
}

/// Returns the time of this moment, in nanoseconds since the epoch.
#[must_use]
pub fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// The records of a journal, the oldest first. The files are untrusted: a guest may have taken the process
/// over that writes them. A line that is no record is left out.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    /// The file that is read, up to its limit.
    file: Option<BufReader<io::Take<fs::File>>>,
    is_older: bool,
    /// The beginning of a line that is not complete yet.
    begun: Vec<u8>,
}

impl Records {
    /// Opens the journal at `path`, which need not exist.
    ///
    /// # Errors
    /// If a file cannot be opened, or is not a regular one.
    pub fn open(path: &Path) -> io::Result<Self> {
        let older = read(&older(path))?;
        let is_older = older.is_some();
        Ok(Self {
            file: match older {
                Some(file) => Some(file),
                None => read(path)?,
            },
            is_older,
            path: path.to_owned(),
            begun: Vec::new(),
        })
    }

    /// Returns the next record; `None` if there are no more yet.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        loop {
            match self.line()? {
                Some(line) => {
                    if let Ok(record) = serde_json::from_slice(&line) {
                        return Ok(Some(record));
                    }
                }
                None if self.is_older || self.file.is_none() => {
                    self.is_older = false;
                    self.begun.clear();
                    self.file = read(&self.path)?;
                    if self.file.is_none() {
                        return Ok(None);
                    }
                }
                None => return Ok(None),
            }
        }
    }

    /// Returns the number that the next question of the sandbox gets.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn next_id(mut self) -> io::Result<u64> {
        let mut last = 0;
        while let Some(record) = self.next_record()? {
            last = record.event.id().max(last);
        }
        Ok(last.saturating_add(1))
    }

    /// Returns a complete line, or a part of one that is too long; `None` if there is none yet.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let room_bytes = LINE_MAX_BYTES.saturating_sub(self.begun.len() as u64);
        file.take(room_bytes).read_until(b'\n', &mut self.begun)?;
        let is_whole = self.begun.ends_with(b"\n") || self.begun.len() as u64 >= LINE_MAX_BYTES;
        Ok(is_whole.then(|| std::mem::take(&mut self.begun)))
    }
}

fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Opens a file to add to it. A symlink is not followed.
fn append(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let options = options.append(true).create(true).mode(0o600);
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a file to read it; `None` if it does not exist. A symlink is not followed, a FIFO is not waited for.
fn read(path: &Path) -> io::Result<Option<BufReader<io::Take<fs::File>>>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        let message = format!("{} is not a regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(Some(BufReader::new(file.take(2 * FILE_MAX_BYTES))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, End, Kind, Question, Verdict};

    fn asked(id: u64, reason: &str) -> Event {
        let mut question = Question::new(Kind::Path, "/work/a\n\u{1b}[2J", reason).expect("one");
        question.id = id;
        Event::Asked(question.of_process(Some("sh\u{202e}"), Some(0)))
    }

    fn all(path: &Path) -> Vec<Event> {
        let mut records = Records::open(path).expect("opened");
        let mut all = Vec::new();
        while let Some(record) = records.next_record().expect("read") {
            all.push(record.event);
        }
        all
    }

    #[test]
    fn a_journal_is_read_as_it_was_written_and_goes_on_after_a_restart() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("asks.jsonl");
        assert_eq!(all(&path), []);
        let answer = Answer::once(Verdict::Allow, "a user").with_rule(Some("/a=allow"));
        let events = [
            asked(1, "one"),
            Event::Ended {
                id: 1,
                end: End::Answered(answer),
            },
            asked(2, "two"),
            Event::Ended {
                id: 2,
                end: End::TimedOut,
            },
        ];
        for event in &events {
            let mut journal = Journal::open(&path).expect("opened");
            journal.add(event).expect("written");
        }
        assert_eq!(all(&path), events);
        assert_eq!(
            Records::open(&path)
                .expect("opened")
                .next_id()
                .expect("read"),
            3
        );
        let text = fs::read_to_string(&path).expect("read");
        assert_eq!(text.lines().count(), 4, "no text of a guest ends a line");
        assert!(!text.contains('\u{1b}'), "control characters are escaped");
        assert!(
            text.contains(
                r#""event":"ended","id":1,"end":"answered","verdict":"allow","rule":"/a=allow""#
            ),
            "{text}"
        );
    }

    #[test]
    fn a_journal_is_bounded() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("asks.jsonl");
        let mut journal = Journal::with_limit(&path, 10_000).expect("opened");
        for id in 1..200 {
            journal
                .add(&asked(id, &"\0".repeat(1024)))
                .expect("written");
        }
        let length = |path: &Path| fs::metadata(path).expect("there").len();
        assert!(length(&path) <= 10_000 && length(&older(&path)) <= 10_000);
        let last = all(&path).last().map(Event::id);
        assert_eq!(last, Some(199));
    }

    #[test]
    fn lines_that_are_no_records_and_files_that_are_none_do_no_harm() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("asks.jsonl");
        let mut text = b"{}\nnonsense\n\xff\n".to_vec();
        text.extend(vec![b'x'; 200_000]);
        text.extend(b"\n{\"time_ns\":1,\"event\":\"ended\",\"id\":7,\"end\":\"timed-out\"}\n{\"ti");
        fs::write(&path, text).expect("written");
        assert_eq!(
            all(&path),
            [Event::Ended {
                id: 7,
                end: End::TimedOut
            }]
        );
        fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", &path).expect("made");
        assert!(Records::open(&path).is_err());
        let mut journal = Journal::open(&path).expect("the symlink is replaced");
        journal.add(&asked(1, "")).expect("written");
        assert_eq!(all(&path).len(), 1);
    }
}
