//! The journal of the commands that were run in a sandbox.
//!
//! A [`Journal`] is a file of lines, one for each [event](crate::event): a command begins, it ends, the files
//! go back to a snapshot. A line is appended under a lock, and is durable before the command starts if a
//! snapshot was taken before it. [`History`] is what the events amount to: the commands, and those among them
//! that an undo takes back.
//!
//! ```
//! use command_journal::{Journal, NewCommand, Rollback};
//!
//! let directory = tempfile::tempdir()?;
//! let journal = Journal::new(directory.path().join("commands"));
//! let number = journal.begin(&NewCommand::new(["make", "install"]).with_snapshot())?;
//! journal.end(number, 0)?;
//!
//! let history = journal.history()?;
//! let undo = history.undo("work", 1, |_| true)?;
//! assert_eq!(undo.snapshot, "command-1");
//! journal.rolled_back(&Rollback { to: &undo.snapshot, to_created_s: 0, kept: "2" })?;
//! assert!(journal.history()?.entries()[0].is_undone);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! ```text
//! 6b1f0c9e {"last":1,"at":"2026-11-21T10:00:00.125Z","event":"begin","number":1,"argv":["make"],"snapshot":"command-1"}
//! a41be1d0 {"last":1,"at":"2026-11-21T10:00:07.250Z","event":"end","number":1,"exit_code":0}
//! ```
//!
//! A line begins with the CRC-32C of its JSON. A line that does not match is reported as damaged, and the others
//! are read. A last line without its end is what a killed process left: it is ignored, and overwritten.
//!
//! # Limits
//!
//! A file has at most 5,000 commands and 8 MiB. The full one is renamed, in the place of the one before it, so
//! between 5,000 and 10,000 commands are kept. A command is cut at 4 KiB.

#![forbid(unsafe_code)]

mod entry;
mod event;
mod file;
mod history;
mod journal;
mod lines;
mod record;
mod undo;

pub use entry::{Entry, NextState};
pub use history::{DamagedLine, History};
pub use jiff::Timestamp;
pub use journal::{Journal, NewCommand, Rollback, snapshot_name};
pub use record::{ChangeCounts, CommandRecord, JobEnd};
pub use undo::{Undo, UndoError};
