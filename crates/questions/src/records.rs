use std::io;
use std::path::Path;

use crate::files::allowed;
use crate::lines::Lines;
use crate::{NUMBER_MAX, Record};

/// The records of a journal, the oldest first. The files are untrusted: a guest may have taken the process
/// over that writes them. A line that is no record is left out.
#[derive(Debug)]
pub struct Records {
    allowed: Source,
    others: Source,
}

/// The records of one kind.
#[derive(Debug)]
struct Source {
    lines: Lines,
    /// The record that comes next, if it was read already.
    next: Option<Record>,
}

impl Records {
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
        self.allowed.lines.go_on();
        self.others.lines.go_on();
    }

    /// Returns true if the journal is followed.
    #[must_use]
    pub const fn goes_on(&self) -> bool {
        self.others.lines.goes_on()
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
            lines: Lines::open(path)?,
            next: None,
        })
    }

    /// Reads the next record, unless it was read already, and returns its time; `None` if there is none yet.
    fn next_time_ns(&mut self) -> io::Result<Option<u64>> {
        while self.next.is_none() {
            let Some(line) = self.lines.next_line()? else {
                return Ok(None);
            };
            self.next = serde_json::from_slice(&line).ok();
        }
        Ok(self.next.as_ref().map(|record| record.time_ns))
    }
}
