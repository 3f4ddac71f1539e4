//! The plan of a container: its process, root, mounts and limits, as a host hands them to a guest.
//!
//! A [`ContainerPlan`] is one value on both sides. The host makes it from a runtime's configuration, and the guest's
//! agent applies it between clone and exec. It travels as one message of Protocol Buffers, so the agent needs no parser
//! of JSON. Everything is resolved: users are numbers, capabilities are bits, limits are values of cgroup v2, the
//! filter of system calls is a program of the kernel's BPF.
//!
//! ```
//! use container_plan::{ContainerPlan, Filesystem, Mount, PlanError, Process};
//!
//! let mut plan = ContainerPlan {
//!     id: "web".to_owned(),
//!     process: Process {
//!         args: vec!["sh".to_owned()],
//!         cwd: "/".to_owned(),
//!         ..Process::default()
//!     },
//!     mounts: vec![Mount::of_filesystem(Filesystem::Proc, "/proc")],
//!     ..ContainerPlan::default()
//! };
//! let bytes = plan.to_bytes().expect("the plan is valid");
//! assert_eq!(ContainerPlan::from_bytes(&bytes).expect("it was just written"), plan);
//!
//! plan.process.cwd = "work".to_owned();
//! let error = plan.to_bytes().expect_err("the directory is relative");
//! assert!(error.to_string().starts_with("process.cwd is \"work\""));
//! ```
//!
//! | Type | Holds |
//! |---|---|
//! | [`Process`] | arguments, environment, user, terminal, limits, capabilities |
//! | [`Mount`] | a mount in the container's mount namespace |
//! | [`Device`] | a device node in its `/dev` |
//! | [`Namespaces`] | which namespaces it shares with its pod |
//! | [`Cgroup`] | its control group and the values in it |
//! | [`SeccompFilter`] | its filter of system calls |
//!
//! Hooks have no place in a plan: a guest runs nothing but the container's processes.
//!
//! # Limits
//!
//! A plan, a [`Process`] of an exec and a [`Cgroup`] of an update are checked when they are encoded and when they are
//! decoded: each has at most [`PLAN_MAX_BYTES`], a list has at most the entries that [`limits`] names, and no text has
//! a NUL byte.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

pub mod limits;

mod capability;
mod cgroup;
mod check;
mod device;
mod encoding;
mod error;
mod mount;
mod namespaces;
mod plan;
mod process;
mod seccomp;

pub use capability::{CAPABILITIES, Capabilities, capability_bit};
pub use cgroup::{Cgroup, Control, DeviceKind, DeviceRule, is_control_file};
pub use device::{Device, STANDARD_DEVICES, StandardDevice};
pub use error::PlanError;
pub use limits::PLAN_MAX_BYTES;
pub use mount::{Filesystem, MOUNT_FLAGS, Mount, MountSource, PodMemory, Propagation, flags};
pub use namespaces::{NamespaceScope, Namespaces};
pub use plan::{ContainerPlan, Sysctl};
pub use process::{Process, RLIMITS, Rlimit, TerminalSize, UNLIMITED};
pub use seccomp::{Instruction, SeccompFilter};
