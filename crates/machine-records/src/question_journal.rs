use std::io;
use std::path::Path;

use durable_files::now_ns;
use questions::{Event, Record};

use crate::json_lines::LineWriter;
use crate::question_records::{QUESTION_LIMITS, allowed};

/// The journal of the questions of a sandbox, as it is written.
///
/// The records of questions that a client allowed have files of their own: however much a guest asks, only newer
/// ones of the same kind push them out.
#[derive(Debug)]
pub struct QuestionJournal {
    allowed: LineWriter,
    others: LineWriter,
}

impl QuestionJournal {
    /// Opens the journal at `path`, which is created if it does not exist. Something else that is no regular
    /// file is removed.
    ///
    /// # Errors
    /// If a file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, QUESTION_LIMITS.file_bytes)
    }

    fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        Ok(Self {
            allowed: LineWriter::open(&allowed(path), max_bytes)?,
            others: LineWriter::open(path, max_bytes)?,
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
        let writer = if event.was_allowed() {
            &mut self.allowed
        } else {
            &mut self.others
        };
        writer.add(&record)
    }
}

#[cfg(test)]
mod tests;
