use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fs_err as fs;

use crate::files::{FILE_MAX_BYTES, allowed, append, clear, older};
use crate::{Event, Record};

/// The journal of the questions of a sandbox, as it is written. Each record is one line of JSON.
///
/// The records of questions that a client allowed have files of their own: however much a guest asks, only newer
/// ones of the same kind push them out.
#[derive(Debug)]
pub struct Journal {
    allowed: Writer,
    others: Writer,
}

/// The writer of lines to a file, whose older lines are kept in another one.
#[derive(Debug)]
struct Writer {
    path: PathBuf,
    file: fs::File,
    length_bytes: u64,
    max_bytes: u64,
    /// True if the last line of the file has no end.
    is_torn: bool,
}

impl Journal {
    /// Opens the journal at `path`, which is created if it does not exist. Something else that is no regular
    /// file is removed.
    ///
    /// # Errors
    /// If a file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, FILE_MAX_BYTES)
    }

    fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        Ok(Self {
            allowed: Writer::open(&allowed(path), max_bytes)?,
            others: Writer::open(path, max_bytes)?,
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
        if event.was_allowed() {
            self.allowed.add(&line)
        } else {
            self.others.add(&line)
        }
    }
}

impl Writer {
    fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        clear(path)?;
        clear(&older(path))?;
        let mut file = append(path)?;
        let length_bytes = file.metadata()?.len();
        let mut last = [b'\n'];
        if length_bytes > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            length_bytes,
            max_bytes,
            // A process was killed while it wrote.
            is_torn: last != [b'\n'],
        })
    }

    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        let length_bytes = line.len() as u64;
        if self.length_bytes > 0 && self.length_bytes + length_bytes > self.max_bytes {
            self.turn_over()?;
        }
        if self.is_torn {
            self.file.write_all(b"\n")?;
            self.length_bytes += 1;
        }
        self.is_torn = true;
        self.file.write_all(line)?;
        self.is_torn = false;
        self.length_bytes += length_bytes;
        Ok(())
    }

    /// Begins a new file.
    fn turn_over(&mut self) -> io::Result<()> {
        match fs::rename(&self.path, older(&self.path)) {
            // It was renamed before, and the new file could not be made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        self.file = append(&self.path)?;
        self.length_bytes = 0;
        self.is_torn = false;
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

#[cfg(test)]
mod tests;
