//! The `config.json` of an OCI runtime bundle as the plan of a container, or the name of the field that is refused.
//!
//! [`plan_container`] is a pure function: from the text of a specification (OCI runtime specification 1.0 to 1.2) and
//! from what the [`Pod`] already has, to the guest's part, the host's part, and the list of ignored fields. Nothing is
//! skipped silently: a field that is unknown or not supported is refused by its path, with its value and a remedy.
//!
//! ```
//! use oci_spec_plan::{Pod, SpecError, plan_container};
//!
//! let config = br#"{
//!     "ociVersion": "1.2.0",
//!     "process": {"args": ["sh"], "cwd": "/", "user": {"uid": 0, "gid": 0}},
//!     "root": {"path": "rootfs"},
//!     "mounts": [
//!         {"destination": "/proc", "type": "proc", "source": "proc"},
//!         {"destination": "/data", "type": "bind", "source": "/srv/data", "options": ["rbind", "ro"]}
//!     ],
//!     "linux": {"namespaces": [
//!         {"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}
//!     ]}
//! }"#;
//! let plan = plan_container("web", config, &Pod::default()).expect("it is supported");
//! assert_eq!(plan.container.process.args, ["sh"]);
//! assert_eq!(plan.host.binds[0].source, "/srv/data");
//! assert_eq!(plan.notes[0].path, "root.path");
//!
//! let config = br#"{"ociVersion": "1.2.0", "process": {"args": ["sh"], "ioPriority": {"class": "IOPRIO_CLASS_RT"}}}"#;
//! let error = plan_container("web", config, &Pod::default()).expect_err("it is not supported");
//! let SpecError::Refused(refusal) = error else { panic!("a field is refused") };
//! assert_eq!(refusal.path, "process.ioPriority");
//! ```
//!
//! ```text
//! bytes -> json (bounded) -> node (values with paths) -> config +- process, namespace, mount, device, sysctl
//!                                                               +- resources (cgroup v2), seccomp (BPF)
//! ```
//!
//! [`IGNORED`] and [`UNSUPPORTED`] are the tables of fields that are not applied; `docs/containerd.md` has them, too.
//!
//! # Limits
//!
//! A specification has at most [`CONFIG_MAX_BYTES`], [`ENTRIES_MAX`] values and [`DEPTH_MAX`] levels, which are counted
//! before it is parsed. The limits of a plan are those of the crate `container-plan`.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod config;
mod device;
mod entry;
mod error;
mod fields;
mod json;
mod mount;
mod mount_option;
mod namespace;
mod node;
mod plan;
mod process;
mod propagation;
mod resources;
mod seccomp;
mod sysctl;

pub use entry::{plan_container, plan_process, plan_resources};
pub use error::{Refusal, SpecError};
pub use fields::{IGNORED, Ignored, UNSUPPORTED, Unsupported};
pub use json::{CONFIG_MAX_BYTES, DEPTH_MAX, ENTRIES_MAX};
pub use plan::{Architecture, HostBind, HostPart, MemoryVolume, Note, Pod, SpecPlan};
