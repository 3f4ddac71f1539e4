//! The life of a sandbox: create, start, exec, stop.
//!
//! A [`Sandbox`] is an image from the store and a writable disk. A start spawns one process, which
//! runs the machine and owns everything that belongs to it ([`serve`]); clients connect to the
//! socket of that process. There is no daemon: a sandbox is running if its lock is held.

mod allocation;
mod as_text;
mod boot;
mod command;
mod confinement;
mod durable;
mod exit;
mod files;
mod flock;
mod health;
mod home;
mod host_authorities;
mod hostname;
mod keeper;
mod kernel;
mod mounts;
mod network_process;
mod output_log;
mod parts;
mod patches;
mod plain_name;
mod probe;
mod process;
mod randomness;
mod sandbox;
mod share_process;
mod socket;
mod stamp;
mod stats;
mod stop_signal;
mod text_log;
mod timeline;
mod ulimit;
mod untrusted;
mod vmm_process;
mod volumes;

pub(crate) use allocation::allocated_bytes;
pub use boot::BootDiskError;
pub use boot_disk::identity as agent_identity;
pub use command::{NoCommand, Overrides, exec_in, process, process_without_command};
pub use exit::{EndReason, Exit};
pub use files::{
    ByteStream, Copied, CopyError, CopyOptions, DisksError, FilesError, SandboxFiles, Side,
    copy_in, copy_out, put_tar, write_file,
};
pub use health::{Health, Level, diagnose};
pub use home::{Home, HomeError};
pub use host_authorities::{HostAuthorities, NoAuthorities};
pub use hostname::{Hostname, InvalidHostname};
pub use keeper::{Job, Lifetime, RestartPolicy};
pub use kernel::{KERNEL_REMEDY, Kernel, KernelError};
pub use mounts::{Mount, MountError, Room, Source, Target, check_mounts};
pub use msb_network as network;
pub use network_process::{NetworkProcessError, NetworkStartError, serve_network};
pub use output_log::{LogReader, LogRecord, LogStream};
pub use parts::{MachineParts, machine_parts};
pub use patches::{HostCopy, HostEntry, NewContent, NewDirectory, PatchError, Patches};
pub use probe::{Finding, Trial, probe};
pub use process::Process;
pub use sandbox::{
    Changes, Condition, CreateError, CreateOptions, JobCondition, Limits, Lock, Place, ReachError,
    RemoveError, RenameError, Resources, Running, Sandbox, SandboxId, Spec, StartError, State,
    Stopping, UpdateError, UpperError, VmmCommand,
};
pub use share_process::{ShareProcessError, serve_share};
pub use stats::{GuestStats, HostProcesses, HostStats, Stats};
pub use stop_signal::{NoSignal, StopSignal};
pub use text_log::TextLog;
pub use timeline::{Mark, Timeline, TimelineError};
pub use ulimit::{Ulimit, UlimitError};
pub use vmm_process::{Helpers, VmmProcessError, serve};
pub use volumes::{
    InvalidVolumeName, VOLUME_BYTES, Volume, VolumeConflict, VolumeError, VolumeName, VolumeSpec,
};
