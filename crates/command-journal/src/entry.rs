use jiff::Timestamp;

/// A command in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number: a later command of the sandbox has a higher one.
    pub number: u64,
    /// Time before the start, with milliseconds.
    pub started: Timestamp,
    /// The program and its arguments; bytes that are not UTF-8 are replaced.
    pub argv: Vec<String>,
    /// True if the command is longer than `argv`.
    pub is_cut: bool,
    /// The name that the snapshot before the command was given; `None` if none was taken.
    pub snapshot: Option<String>,
    /// The number of the job in its run of the sandbox; `None` if the command is none.
    pub job: Option<u64>,
    /// The exit code; `None` if the end was not seen.
    pub exit_code: Option<u8>,
    /// Time of the end, with milliseconds; `None` if it was not seen.
    pub ended: Option<Timestamp>,
    /// True if the sandbox's files have gone back to a state before the command.
    pub is_undone: bool,
    /// The number of states that were kept before the command made changes.
    pub(crate) states_before: usize,
    /// The number of lines before that of its start.
    pub(crate) begin_line: usize,
    /// The number of lines before the one after which it does not run; `None` if it may still run.
    pub(crate) end_line: Option<usize>,
}

/// The next state of a sandbox's files after a command that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextState {
    /// The state that the snapshot with this name keeps.
    Snapshot(String),
    /// The current state of the files.
    Current,
}

impl Entry {
    /// Returns the time from the start to the end in ms; `None` if the end was not seen.
    #[must_use]
    pub fn duration_ms(&self) -> Option<u64> {
        let duration = self.ended?.as_millisecond() - self.started.as_millisecond();
        // The host's clock may have been set back.
        Some(u64::try_from(duration).unwrap_or(0))
    }
}
