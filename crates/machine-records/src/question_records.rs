use std::io;
use std::path::{Path, PathBuf};

use questions::{NUMBER_MAX, Record};

use crate::json_lines::{LineLimits, LineReader};

/// The bounds of the files of a journal. There are four: one for the questions that a client allowed, one for all
/// others, and for each of them one with the older records.
pub(crate) const QUESTION_LIMITS: LineLimits = LineLimits {
    file_bytes: 512 << 10,
    // A record is shorter, also one of control characters, which JSON writes with six bytes each.
    line_bytes: 128 << 10,
};

/// Returns the path of the records of allowed questions, which no other ones push out.
pub(crate) fn allowed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".allowed");
    name.into()
}

/// The records of a sandbox's questions, the oldest first. A line that is no record is left out.
#[derive(Debug)]
pub struct QuestionRecords {
    allowed: Source,
    others: Source,
}

/// The records of one kind.
#[derive(Debug)]
struct Source {
    reader: LineReader,
    /// The record that comes next, if it was read already.
    next: Option<Record>,
}

impl QuestionRecords {
    /// Opens the journal at `path`, which need not exist. The records have an end, also if others are
    /// written meanwhile.
    ///
    /// # Errors
    /// If a file cannot be opened, or is not a regular one.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            allowed: Source::open(&allowed(path))?,
            others: Source::open(path)?,
        })
    }

    /// Follows the journal from now on.
    pub const fn go_on(&mut self) {
        self.allowed.reader.go_on();
        self.others.reader.go_on();
    }

    /// Returns true if the journal is followed.
    pub const fn goes_on(&self) -> bool {
        self.others.reader.goes_on()
    }

    /// Returns the next record; `None` if there are no more yet.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        // In this order a question comes before its answer, if both are written meanwhile.
        let allowed = self.allowed.next_time_ns()?;
        let other = self.others.next_time_ns()?;
        let is_first = |allowed: u64| other.is_none_or(|other| allowed < other);
        let source = if allowed.is_some_and(is_first) {
            &mut self.allowed
        } else {
            &mut self.others
        };
        Ok(source.next.take())
    }

    /// Returns the largest number of a question in the journal; 0 if it has none.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn last_id(mut self) -> io::Result<u64> {
        let mut last = 0;
        while let Some(record) = self.next_record()? {
            let id = record.event.question().id;
            if id <= NUMBER_MAX {
                last = id.max(last);
            }
        }
        Ok(last)
    }
}

impl Source {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            reader: LineReader::open(path, QUESTION_LIMITS)?,
            next: None,
        })
    }

    /// Reads the next record, unless it was read already, and returns its time; `None` if there is none yet.
    fn next_time_ns(&mut self) -> io::Result<Option<u64>> {
        if self.next.is_none() {
            self.next = self.reader.next_record()?;
        }
        Ok(self.next.as_ref().map(|record| record.time_ns))
    }
}
