//! The library of a sandbox's clients: create, start, exec, copy, stop.
//!
//! A [`Sandbox`] is an image from the store and a writable disk. A start spawns one process, the
//! VMM process, which runs the machine and owns everything that belongs to it (the crate
//! `msb-machine`); clients connect to the socket of that process. There is no daemon: a sandbox is
//! running if its lock is held.
//!
//! [`LaunchSpec`], [`SandboxPaths`] and the records in them are shared by clients and the VMM
//! process.

mod allocation;
mod apply;
mod as_text;
mod at_rest;
mod boot;
mod command;
mod commit;
mod diff;
mod discard;
mod disks;
mod each_at_once;
mod exit;
mod files;
mod flock;
mod forks;
mod health;
mod home;
mod host_authorities;
mod kernel;
mod launch_spec;
mod mounts;
mod native_root;
mod output_log;
mod parts;
mod patches;
mod plain_name;
mod process;
mod published_ports;
mod randomness;
mod removed_files;
mod root_disk;
mod sandbox;
mod snapshots;
pub mod socket;
mod stamp;
mod stats;
mod stop_signal;
mod text_log;
mod timeline;
mod ulimit;
mod untrusted_file;
mod volumes;

/// The id of this build: the version, and a digest of the code that clients of a sandbox and its VMM
/// process share. A client and a program of msb with one id understand each other.
pub const BUILD: &str = env!("MSB_BUILD");

pub(crate) use allocation::allocated_bytes;
pub use apply::{
    ApplyError, ApplyOptions, Conflict, ConflictReason, Effect, HostAction, HostChanges, Marked,
    Step,
};
pub use at_rest::{AtRestError, SandboxAtRest};
pub use boot::BootDiskError;
pub use boot_disk::identity as agent_identity;
pub use command::{NoCommand, Overrides, exec_in, process, process_without_command};
pub use commit::{
    CommitError, CommittedError, LayerChoice, LayerLimits, LayerReader, SandboxLayer,
};
pub use diff::{ChangeScope, ChangedFile, Diff, DiffError, DiffSide};
pub use discard::{DiscardError, DiscardOptions, Discarded};
pub use disk_image::{Filesystem as RootFilesystem, Format as DiskImageFormat};
pub use disks::DisksError;
pub use exit::{EndReason, Exit};
pub use files::{
    ByteStream, Copied, CopyError, CopyOptions, FilesError, SandboxFiles, Side, copy_in, copy_out,
    put_tar, write_file,
};
pub use forks::Forked;
pub use health::{Health, Level, diagnose};
pub use home::{Home, HomeError};
pub use host_authorities::{HostAuthorities, NoAuthorities};
pub use kernel::{Kernel, KernelError, KernelSearch};
pub use launch_spec::{
    AwaitedOwner, LAUNCH_FORMAT, LaunchSpec, LaunchSpecError, SupervisorConfig, VmmCommand,
};
pub use mounts::{Mount, MountError, Room, Source, Target, check_mounts};
pub use msb_network as network;
pub use msb_sandbox_model::{GuestSettings, Lifetime, Restart};
pub use native_root::NativeRootError;
pub use output_log::{LogReader, LogRecord, LogStream, LogWriter};
pub use parts::{MachineParts, machine_parts};
pub use patches::{HostCopy, HostEntry, NewContent, NewDirectory, PatchError, Patches};
pub use process::Process;
pub use root_disk::{FoundRootDisk, NoOverlay, RootDisk, RootDiskChoice, RootDiskError};
pub use sandbox::{
    AdoptError, Changes, Condition, ConnectError, CreateError, CreateOptions, ImageUsers, Job,
    JobCondition, JobPaths, Listing, Lock, MachineLock, OwnOptions, Owner, RecordError,
    RemoveError, RenameError, Resources, Running, Sandbox, SandboxId, SandboxPaths, SeenFiles,
    Spec, StartError, StartOptions, State, Stopping, UNMOUNT_TIMEOUT, UPPER_SERIAL,
    UnreadableSandbox, UpdateError, UpperError, UpperPool,
};
pub use snapshots::{
    Consistency, ExportError, ImportError, Imported, InvalidSnapshotName, Origin, RollBackRunning,
    RolledBack, Snapshot, SnapshotContent, SnapshotDraft, SnapshotError, SnapshotExport,
    SnapshotImport, SnapshotName, VerifiedSnapshot,
};
pub use stats::{GuestStats, HostProcesses, HostStats, Stats};
pub use stop_signal::{NoSignal, StopSignal};
pub use text_log::TextLog;
pub use timeline::{Mark, Timeline, TimelineError};
pub use ulimit::{Ulimit, UlimitError};
pub use volumes::{
    InvalidVolumeName, VOLUME_BYTES, Volume, VolumeConflict, VolumeError, VolumeLockError,
    VolumeName, VolumeSpec, VolumeUse, lock_all as lock_volumes,
};
