//! The files of sandboxes on their disks: read while nobody writes to them, compared, applied to a directory
//! of this host, committed to an image, and taken back.
//!
//! A [`SandboxAtRest`] is a sandbox whose disk does not change while it is read: a stopped one, a snapshot,
//! or a running one whose guest had its filesystem frozen. [`SandboxFiles`] are the files of any sandbox,
//! which the agent reads and writes while it runs.

mod allow;
mod applying;
mod at_rest;
mod commit;
mod diff;
mod discard;
mod disks;
mod files;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod restage;
mod staged_environment;
mod text;

pub use allow::{AllowError, Allowed, Permission, allow, lasting_state};
pub use applying::finish_applying;
pub use at_rest::{AtRestError, SandboxAtRest};
pub use commit::{
    CommitError, CommittedError, CommittedImage, LayerChoice, LayerLimits, LayerReader,
    SandboxLayer,
};
pub use diff::{ChangeScope, ChangedFile, Diff, DiffError, DiffSide, DiskSide};
pub use discard::{ClaimedSandbox, DiscardError, DiscardOptions, Discarded, Discarding};
pub use disks::DisksError;
pub use files::{
    ByteStream, Copied, CopyError, CopyOptions, FilesError, SandboxFiles, Side, copy_in, copy_out,
    put_tar, write_file,
};
pub use msb_host_changes::{
    ApplyError, ApplyOptions, ApplyRecordError, ApplyRecords, Choice, Conflict, ConflictReason,
    Effect, HostAction, LeftFile, Marked, Refused, StagedRules, Step, WaitingApply,
};
pub use restage::{RestageError, Restaged, Restaging};
pub use staged_environment::set_staged_environment;
pub use text::Text;

/// Changes of sandboxes that are about to be put into a directory of the host.
pub type HostChanges = msb_host_changes::HostChanges<DiskSide>;
