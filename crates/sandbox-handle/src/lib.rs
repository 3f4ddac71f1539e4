//! The handle of a sandbox, and what is done with a sandbox through it.
//!
//! A [`Handle`] is the state that all clones of a sandbox's handle share: its description, its connection
//! to the guest's agent, its machine, and its [`Owner`]. Commands, [`Jobs`], [`Files`], logs and statistics
//! are calls on it. A call that fails because the sandbox has ended says so.
//!
//! ```no_run
//! # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
//! sandbox.files().write("/tmp/hello.py", "print('hello')").await?;
//! let output = sandbox.exec(["python3", "/tmp/hello.py"]).await?.check()?;
//! assert_eq!(output.text(), "hello\n");
//! # Ok(())
//! # }
//! ```

mod discard;
mod exec;
mod files;
mod handle;
mod jobs;
mod logs;
mod owner;
mod recording;
mod stats;
#[cfg(test)]
mod testing;

pub use discard::{discard, kill_and_remove, remove_ended, remove_stopped, remove_unreadable};
pub use exec::{Event, ExecOptions, ExecRequest, Output, Process, Stdin, attach, collect, spawn};
pub use files::{
    Copied, CopyOptions, FileInfo, FileStream, FileType, FileUpload, Files, MkdirOptions,
    ReadOptions, RemoveOptions, TarUpload, WriteOptions,
};
pub use handle::Handle;
pub use jobs::{Job, JobInfo, Jobs};
pub use logs::{LogOptions, LogRecord, LogSource, Logs, LogsRequest, OutputStream};
pub use owner::{Owner, Scope, own_options};
pub use recording::{RecordError, record_rollback, record_snapshot};
pub use stats::{
    GuestStats, HostStats, NetworkTotals, Stats, StatsSample, StatsWatch, sample, sample_several,
};
