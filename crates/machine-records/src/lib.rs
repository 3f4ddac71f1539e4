//! The records that a machine's process leaves for clients: its exit, its output and logs, and the
//! timeline of its start.
//!
//! A guest may have taken over the process that writes them, so readers bound what they read, and take
//! no file for what its name says ([`untrusted_file`]). Logs of records are lines of JSON ([`json_lines`]), and so is
//! the journal of a guest's questions; [`Log`] reads each of a sandbox's logs.

mod exit;
pub mod json_lines;
mod log;
mod log_options;
mod log_record;
mod output_log;
mod question_journal;
mod question_records;
mod text_log;
mod timeline;
pub mod untrusted_file;

pub use exit::{EndReason, Exit};
pub use log::{Log, LogBatch};
pub use log_options::{LogOptions, LogOptionsError, LogSource};
pub use log_record::{LogRecord, LogStream};
pub use output_log::{LogReader, LogWriter};
pub use question_journal::QuestionJournal;
pub use question_records::QuestionRecords;
pub use text_log::{TextLog, last_lines};
pub use timeline::{Mark, Timeline, TimelineError};
