//! A sandbox's life: create, start, exec, stop.
//!
//! A [`Sandbox`] is an image from the store and a writable disk of its own. Starting it spawns one
//! process that runs the machine and owns everything of it ([`serve`]); whoever wants something
//! in the sandbox connects to that process's socket. There is no daemon: what runs is what holds
//! a sandbox's lock.

mod boot;
mod command;
mod confinement;
mod durable;
mod first_command;
mod health;
mod home;
mod kernel;
mod output_log;
mod parts;
mod probe;
mod sandbox;
mod socket;
mod switchboard;
mod vmm_process;

pub use boot::BootDiskError;
pub use boot_disk::identity as agent_identity;
pub use command::{NoCommand, Overrides, exec, exec_in};
pub use first_command::Exit;
pub use health::{Health, Level, diagnose};
pub use home::Home;
pub use kernel::{KERNEL_REMEDY, Kernel, KernelError};
pub use output_log::{LogReader, LogRecord, LogStream};
pub use parts::{MachineParts, machine_parts};
pub use probe::{Finding, Trial, probe};
pub use sandbox::{
    CreateError, CreateOptions, Lock, Place, ProcessDefaults, ReachError, RemoveError, Resources,
    Running, Sandbox, SandboxId, Spec, StartError, State, UpperError, VmmCommand,
};
pub use vmm_process::{VmmProcessError, serve};
