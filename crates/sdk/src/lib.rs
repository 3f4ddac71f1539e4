//! The SDK of msb: every operation of the product as asynchronous Rust.
//!
//! msb runs any OCI image in a microVM. A [`Msb`] is the client; it leads to [`Images`],
//! [`Sandboxes`] and [`Volumes`]. A [`Sandbox`] runs commands, has files, logs and statistics.
//!
//! ```no_run
//! use msb_sdk::Msb;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), msb_sdk::Error> {
//!     let msb = Msb::new()?;
//!     let sandbox = msb.sandboxes().run("python:3-slim").memory("1G").await?;
//!     sandbox.files().write("/tmp/hello.py", "print('hello')").await?;
//!     let output = sandbox.exec(["python3", "/tmp/hello.py"]).await?.check()?;
//!     println!("{}", output.text());
//!     sandbox.close().await
//! }
//! ```
//!
//! # Rules
//!
//! - Every operation is an [`Operation`]: a future that is `Send + 'static`, runs on Tokio, and is
//!   cancelled when it is dropped. Cancelling a command kills it; cancelling a start leaves nothing; any
//!   other change of a sandbox is done as a whole, and the next call on the sandbox waits for it.
//! - A sandbox from [`Sandboxes::run`] is owned by its handle, and ends with it. Those from
//!   [`Sandboxes::create`] and [`Sandboxes::get`] are not.
//! - The library prints nothing, changes nothing of its process, and reads the environment only to
//!   build a client.
//! - Nothing is unbounded: collected output has a limit, and streams slow their sender down.
//! - An [`Error`] has a [kind](ErrorKind), a message with all causes, and hints.
//!
//! A sandbox's machine runs in a process of its own, started from the program `msb` of the same
//! build: see [`MsbBuilder::program`].

mod apply;
mod client;
mod commit;
mod diff;
mod doctor;
mod history;
mod inspect;
mod mount;
mod names;
mod network;
mod network_log;
mod network_rules;
mod questions;
mod sandboxes;
mod secrets;
mod snapshot_archives;
mod snapshots;
mod usage;
mod volumes;

pub use bytes::Bytes;
pub use msb_client::{
    EndReason, Environment, Error, ErrorKind, Exit, Face, Force, IntoSize, Jail, Maintenance,
    Notice, Operation, PackAfter, Removal, Settings, Signal, Stopped, TerminalSize, Text, Ulimit,
    Version, VmmChoice,
};
pub use msb_images::{
    DamagedFile, HistoryStep, Image, ImageInfo, Images, LayerCompression, LayerRoute, LayerSize,
    LoadOptions, LoadRequest, LoggedIn, LoggedOut, LoginOptions, PackProgress, PackRequest,
    PackedImage, PruneOptions, Pruned, PrunedImage, Pull, PullEvent, PullOptions, PullPolicy,
    PullRequest, Push, PushEvent, PushOptions, PushRequest, Pushed, PushedLayer, RemovedImage,
    SaveFormat, SaveOptions, SaveRequest, SourceOptions, Verified, VerifyRequest,
};
pub use msb_sandbox_handle::{
    Copied, CopyOptions, Event, ExecOptions, ExecRequest, FileInfo, FileStream, FileType,
    FileUpload, Files, GuestStats, HostStats, Job, JobInfo, Jobs, LogOptions, LogRecord, LogSource,
    Logs, LogsRequest, MkdirOptions, NetworkTotals, Output, OutputStream, Process, ReadOptions,
    RemoveOptions, Stats, StatsSample, StatsWatch, Stdin, TarUpload, WriteOptions,
};
pub use msb_sandbox_model::{
    DISK_DEFAULT, DISK_DEFAULT_TEXT, GuestSettings, Hostname, InvalidGuestSettings,
    InvalidHostname, InvalidMode, InvalidPidNamespace, InvalidSize, InvalidUndoLimit, Lifetime,
    MEMORY_DEFAULT, MEMORY_DEFAULT_TEXT, ModeChange, PidNamespace, Restart, Size, SocketForward,
    Sysctl, SysctlError, Sysctls, UndoLimit,
};

pub use apply::{
    Applied, AppliedChange, AppliedDirectory, ApplyChoice, ApplyOptions, ApplyPlan, MarkedChange,
    PlannedChange, RefusedChange, TextHunk,
};
pub use client::{Msb, MsbBuilder};
pub use commit::{CommitOptions, Committed};
pub use diff::{
    Change, ChangeKind, ChangedFile, Diff, DiffOptions, DiscardOptions, DiscardedChange, Patch,
    PatchLines, Xattr,
};
pub use doctor::{Finding, Fix, Severity};
pub use history::{ChangeCounts, CommandRecord, History, HistoryOptions, UndoOptions, Undone};
pub use inspect::Inspection;
pub use mount::{Mount, MountKind};
pub use msb_runtime::{Rule, RuleState};
pub use msb_sandbox_network::{NetworkChange, NetworkPolicy};
pub use msb_sandbox_secrets::{NewValue, SecretInfo};
pub use msb_sandbox_snapshots::SnapshotConsistency;
pub use msb_secrets::{
    HttpsDestination, InvalidDestination, InvalidName as InvalidSecretName, InvalidSecret,
    InvalidSource, InvalidValue, Placement, Secret, SecretName, SecretSource, SecretValue,
    ValueState,
};
pub use names::Names;
pub use network::{
    Host, InvalidPort, Network, NetworkLogDetail, NetworkMode, Port, TransportProtocol,
};
pub use network_log::{
    EdgeEvent, FlowEnd, HttpRecord, HttpVerdict, NetworkClose, NetworkConnect, NetworkEvent,
    NetworkLog, NetworkQuery, NetworkRecord, NetworkRulesChange, NetworkTls, Verdict,
};
pub use network_rules::SandboxNetwork;
pub use questions::{Allowed, Answering, Question, QuestionAnswer, QuestionEvent, Questions};
pub use sandboxes::{
    BranchOptions, Changes, CopyIn, ForkOptions, HostName, MainCommand, NamePattern, NewDirectory,
    RollbackOptions, RolledBack, RootDisk, Sandbox, SandboxCondition, SandboxFilter, SandboxInfo,
    SandboxOptions, SandboxRequest, SandboxState, Sandboxes, StartOptions, Verify,
};
pub use secrets::Secrets;
pub use snapshot_archives::ImportOptions;
pub use snapshots::{
    SnapshotContent, SnapshotInfo, SnapshotOptions, SnapshotOrigin, Snapshots, VerifiedSnapshot,
};
pub use usage::{ImageUsage, Usage, UsageGroup};
pub use volumes::{Volume, VolumeInfo, VolumeOptions, Volumes};
