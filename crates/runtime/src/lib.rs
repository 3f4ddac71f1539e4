//! The life of a sandbox, for its clients: create, start, connect, stop, remove.
//!
//! A [`Sandbox`] is an image from the store and a writable disk. A start spawns one process, the
//! VMM process, which runs the machine and owns everything that belongs to it (the crate
//! `msb-machine`); clients connect to the socket of that process. There is no daemon: a sandbox is
//! running if its lock is held.
//!
//! [`LaunchSpec`], [`SandboxPaths`] and the records in them (the crate `msb-machine-records`) are shared by
//! clients and the VMM process. Snapshots are in `msb-sandbox-snapshots`; copies, comparisons and layers of a
//! sandbox's files in `msb-sandbox-files`.

mod as_text;
mod boot;
mod command;
mod disk_copy;
mod health;
mod home;
mod kernel;
mod launch_spec;
mod mounts;
mod native_root;
mod parts;
mod plain_name;
mod process;
mod published_ports;
mod root_disk;
mod sandbox;
pub mod socket;
mod stamp;
mod stats;
mod ulimit;
mod volumes;

/// The id of this build: the version, and a digest of the code that clients of a sandbox and its VMM
/// process share. A client and a program of msb with one id understand each other.
pub const BUILD: &str = env!("MSB_BUILD");

pub use boot::BootDiskError;
pub use boot_disk::identity as agent_identity;
pub use command::{NoCommand, Overrides, exec_in, process, process_without_command};
pub use disk_image::{Filesystem as RootFilesystem, Format as DiskImageFormat};
pub use health::{Finding, Severity, diagnose};
pub use home::{Home, HomeError};
pub use kernel::{Kernel, KernelError, KernelSearch};
pub use launch_spec::{
    AwaitedOwner, LAUNCH_FORMAT, LaunchSpec, LaunchSpecError, SupervisorConfig, VmmCommand,
};
pub use mounts::{
    Mount, MountError, Room, Source, Staged, Target, check_mounts, staged, staged_targets,
};
pub use msb_network as network;
pub use msb_sandbox_model::{GuestSettings, Lifetime, NoSignal, Restart, StopSignal};
pub use native_root::NativeRootError;
pub use parts::{MachineParts, machine_parts};
pub use path_rules::{InvalidRule, Rule, Rules, RulesFileError, State as RuleState, TooManyRules};
pub use plain_name::is_plain_name;
pub use process::Process;
pub use root_disk::{FoundRootDisk, NoOverlay, RootDisk, RootDiskChoice, RootDiskError};
pub use sandbox::{
    AdoptError, Base, ChangeLock, Changes, Condition, ConnectError, CreateError, CreateOptions,
    GenerationsLock, HOST_NAME_SUFFIX, IMAGE_SERIAL, ImageUsers, Job, JobCondition, JobPaths,
    Listing, Lock, MachineLock, NewDisk, OwnOptions, Owner, ReadLock, RecordError, RemoveError,
    RenameError, Resources, Running, Sandbox, SandboxId, SandboxPaths, SeenFiles, Spec, StartError,
    StartOptions, State, Stopping, UNMOUNT_TIMEOUT, UPPER_SERIAL, UnreadableSandbox, UpdateError,
    UpperError, UpperPool, add_staged, check_names, current_staged, note_missing_base, share_base,
    staged_below, upper_options, with_native_root, write_anonymous_volumes,
};
pub use staged_image::Notices as StagingNotices;
pub use stats::{GuestStats, HostProcesses, HostStats, Stats};
pub use ulimit::{Ulimit, UlimitError};
pub use volumes::{
    InvalidVolumeName, VOLUME_BYTES, Volume, VolumeConflict, VolumeError, VolumeLockError,
    VolumeName, VolumeSpec, VolumeUse, lock_all as lock_volumes,
};
