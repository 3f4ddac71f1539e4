use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};

use crate::{Entry, History};

/// The commands that an undo takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// The number of the oldest of them.
    pub number: u64,
    /// The snapshot before it.
    pub snapshot: String,
    /// All of them, those without a snapshot too, the newest first.
    pub commands: Vec<Entry>,
    /// Earlier ones, the newest first, whose end is not known to be before the snapshot: what they changed later is
    /// lost, and they are not undone.
    pub overlapping: Vec<Entry>,
}

/// A failure to undo commands.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The number of commands is 0.
    #[error("0 is not a number of commands to undo: write 1 or more")]
    Zero,
    /// No command that is not undone has a snapshot.
    #[error("sandbox {sandbox} has no command to undo: none has a snapshot before it")]
    NoCommand {
        /// Name of the sandbox.
        sandbox: String,
    },
    /// Fewer commands have a snapshot.
    #[error(
        "cannot undo {count} commands of sandbox {sandbox}: {found} of those that are not undone have a \
         snapshot before them"
    )]
    TooMany {
        /// Name of the sandbox.
        sandbox: String,
        /// The number that was given.
        count: usize,
        /// The number of commands with a snapshot.
        found: usize,
    },
    /// The snapshot before the command was removed.
    #[error(
        "cannot undo command {number} of sandbox {sandbox}: the snapshot {snapshot} before it was removed"
    )]
    Removed {
        /// Name of the sandbox.
        sandbox: String,
        /// Number of the command.
        number: u64,
        /// Name of the snapshot.
        snapshot: String,
        /// The nearest number of commands that can be undone, and the oldest of them; `None` if there is none.
        possible: Option<(usize, u64)>,
    },
    /// The rollback is made, and the journal could not be written.
    #[error(
        "sandbox {sandbox} was rolled back to {snapshot}, but its journal cannot be written: the commands are \
         not marked as undone"
    )]
    NotRecorded {
        /// Name of the sandbox.
        sandbox: String,
        /// Name of the snapshot.
        snapshot: String,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
}

impl History {
    /// Finds the state before the last `count` commands with a snapshot, without those that are undone already.
    /// `exists` returns true if the snapshot of a command exists. A command without its snapshot, of which nothing
    /// more is known, was interrupted before its start, and does not count.
    ///
    /// # Errors
    /// If there are fewer such commands, or the snapshot was removed.
    pub fn undo(
        &self,
        sandbox: &str,
        count: usize,
        exists: impl Fn(&Entry) -> bool,
    ) -> Result<Undo, UndoError> {
        let entry = |index: usize| self.entries().get(index);
        let has_started = |entry: &&Entry| {
            entry.snapshot.is_none()
                || entry.exit_code.is_some()
                || entry.job.is_some()
                || exists(entry)
        };
        let done = self.done.iter().filter_map(|index| entry(*index));
        let done: Vec<&Entry> = done.filter(has_started).collect();
        let undoable: Vec<&Entry> = done
            .iter()
            .copied()
            .filter(|entry| entry.snapshot.is_some())
            .collect();
        let sandbox = || sandbox.to_owned();
        let Some(index) = count.checked_sub(1) else {
            return Err(UndoError::Zero);
        };
        if undoable.is_empty() {
            return Err(UndoError::NoCommand { sandbox: sandbox() });
        }
        let Some((oldest, snapshot)) = undoable
            .get(index)
            .and_then(|oldest| Some((*oldest, oldest.snapshot.clone()?)))
        else {
            return Err(UndoError::TooMany {
                sandbox: sandbox(),
                count,
                found: undoable.len(),
            });
        };
        if !exists(oldest) {
            let possible = |entry: &(usize, &&Entry)| exists(entry.1);
            let fewer = undoable.iter().enumerate().take(index).rev().find(possible);
            let more = || undoable.iter().enumerate().skip(index).find(possible);
            let nearest = fewer.or_else(more);
            return Err(UndoError::Removed {
                sandbox: sandbox(),
                number: oldest.number,
                snapshot,
                possible: nearest.map(|(index, entry)| (index + 1, entry.number)),
            });
        }
        let (commands, earlier): (Vec<&Entry>, Vec<&Entry>) =
            done.iter().partition(|entry| entry.number >= oldest.number);
        let overlaps = |entry: &&Entry| entry.end_line.is_none_or(|end| end > oldest.begin_line);
        let overlapping = earlier.into_iter().filter(overlaps);
        Ok(Undo {
            number: oldest.number,
            snapshot,
            commands: commands.into_iter().cloned().collect(),
            overlapping: overlapping.cloned().collect(),
        })
    }
}

impl Diagnose for UndoError {
    fn diagnosis(&self) -> Diagnosis {
        let undo = |sandbox: &str, count: usize, what: &str| {
            let call = format!("{what} with undo({count})");
            Hint::called(format!("{what} with msb undo {sandbox} {count}"), &call)
        };
        match self {
            Self::Zero => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::NoCommand { sandbox } => {
                Diagnosis::new(ErrorKind::NotFound).hint(Hint::worded(
                    format!(
                        "run commands with msb exec --snapshot {sandbox}, or create the sandbox with \
                         --snapshot-commands"
                    ),
                    [
                        "run commands with snapshot(), or create the sandbox with snapshot_commands()",
                        "run commands with snapshot=True, or create the sandbox with snapshot_commands=True",
                        "run commands with snapshot: true, or create the sandbox with snapshotCommands: true",
                    ],
                ))
            }
            Self::TooMany {
                sandbox,
                count,
                found,
            } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("count", *count)
                .detail("found", *found)
                .hint(undo(sandbox, *found, "undo them")),
            Self::Removed {
                sandbox,
                number,
                possible,
                ..
            } => {
                let removed = Diagnosis::new(ErrorKind::NotFound).detail("number", *number);
                match possible {
                    Some((count, oldest)) => removed.hint(undo(
                        sandbox,
                        *count,
                        &format!("go back to the state before command {oldest}"),
                    )),
                    None => removed.hint(Hint::list_snapshots(sandbox)),
                }
            }
            Self::NotRecorded { source, .. } => source
                .diagnosis()
                .hint("undo the commands again once the journal can be written: the files stay as they are"),
        }
    }
}
