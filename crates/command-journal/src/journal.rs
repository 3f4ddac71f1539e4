use std::io;
use std::path::PathBuf;

use fs_err::File;

use crate::History;
use crate::event::{Event, Line};
use crate::file::{Access, Files};
use crate::lines::Lines;

/// The most bytes of a command that are kept.
const ARGV_MAX_BYTES: usize = 4 << 10;
/// The beginning of the name of a command's snapshot.
const SNAPSHOT_PREFIX: &str = "command-";

/// The journal of a sandbox's commands, which need not exist. Any number of processes use it at once.
///
/// Its calls block: a writer waits for the others, each of which syncs one line.
#[derive(Debug, Clone)]
pub struct Journal {
    files: Files,
}

/// A command that is about to start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewCommand {
    argv: Vec<String>,
    is_cut: bool,
    has_snapshot: bool,
}

/// A rollback that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rollback<'a> {
    /// The name of the snapshot that the files are those of.
    pub to: &'a str,
    /// Time of its creation, in seconds since the epoch.
    pub to_created_s: u64,
    /// The name of the snapshot that has the files from before.
    pub kept: &'a str,
}

/// Returns the name of the snapshot before a command.
#[must_use]
pub fn snapshot_name(number: u64) -> String {
    format!("{SNAPSHOT_PREFIX}{number}")
}

impl NewCommand {
    /// Returns a command without a snapshot. Bytes that are not UTF-8 are replaced, and what is longer than 4 KiB
    /// is cut.
    #[must_use]
    pub fn new<W: AsRef<[u8]>>(argv: impl IntoIterator<Item = W>) -> Self {
        let mut command = Self::default();
        let mut left_bytes = ARGV_MAX_BYTES;
        for word in argv {
            // An empty word takes room, too.
            if left_bytes == 0 {
                command.is_cut = true;
                break;
            }
            let word = word.as_ref();
            let kept = &word[..word.len().min(left_bytes)];
            let mut text = String::from_utf8_lossy(kept).into_owned();
            // A replacement is longer than what it replaces.
            let mut is_cut = kept.len() < word.len();
            while text.len() > left_bytes {
                text.pop();
                is_cut = true;
            }
            command.is_cut |= is_cut;
            left_bytes = left_bytes.saturating_sub(text.len() + 1);
            command.argv.push(text);
        }
        command
    }

    /// Has a snapshot be taken before the command.
    #[must_use]
    pub const fn with_snapshot(mut self) -> Self {
        self.has_snapshot = true;
        self
    }
}

impl Journal {
    /// Returns the journal whose current file has this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            files: Files::new(path.into()),
        }
    }

    /// Appends a command that is about to start, and returns its number. It is durable if a snapshot is taken
    /// before the command, whose name is [`snapshot_name`].
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn begin(&self, command: &NewCommand) -> io::Result<u64> {
        let begin = |number| Event::Begin {
            number,
            argv: command.argv.clone(),
            is_cut: command.is_cut,
            snapshot: command.has_snapshot.then(|| snapshot_name(number)),
        };
        let number = self
            .files
            .append(Access::Create, command.has_snapshot, begin)?;
        number.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Appends that a command runs as a job.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn job(&self, number: u64, job: u64) -> io::Result<()> {
        self.append(Event::Job { number, job })
    }

    /// Appends that a command has ended.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn end(&self, number: u64, exit_code: u8) -> io::Result<()> {
        self.append(Event::End { number, exit_code })
    }

    /// Appends that a command was not started: it is not in the history.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn withdraw(&self, number: u64) -> io::Result<()> {
        self.append(Event::Withdraw { number })
    }

    /// Appends that a user took a snapshot, and makes a missing journal.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn snapshot_taken(&self, name: &str) -> io::Result<()> {
        let name = name.to_owned();
        let event = Event::Snapshot { name };
        // The place of a snapshot before the first command does not follow from its time, which has seconds.
        self.files
            .append(Access::Create, false, |_| event)
            .map(|_| ())
    }

    /// Appends, durably, that the files have gone back to a snapshot.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn rolled_back(&self, rollback: &Rollback<'_>) -> io::Result<()> {
        let event = Event::Rollback {
            to: rollback.to.to_owned(),
            to_created_s: rollback.to_created_s,
            kept: rollback.kept.to_owned(),
        };
        self.files
            .append(Access::Append, true, |_| event)
            .map(|_| ())
    }

    /// Reads the journal.
    ///
    /// # Errors
    /// If a file of it cannot be read. A damaged line is none.
    pub fn history(&self) -> io::Result<History> {
        // No writer renames the file meanwhile.
        let current = self.files.lock(Access::Read)?;
        let full = match File::open(&self.files.full) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            full => Some(full?),
        };
        let mut lines: Vec<Line> = Vec::new();
        let (mut damaged, mut damaged_count) = (Vec::new(), 0);
        for mut file in full.into_iter().chain(current) {
            let read = Lines::read(&mut file)?;
            lines.extend(read.valid);
            damaged.extend(read.damaged);
            damaged_count += read.damaged_count;
        }
        Ok(History::replay(&lines, damaged, damaged_count))
    }

    fn append(&self, event: Event) -> io::Result<()> {
        self.files
            .append(Access::Append, false, |_| event)
            .map(|_| ())
    }
}
