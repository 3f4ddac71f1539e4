//! The runtime `io.containerd.msb.v1`: a sandbox of msb as the machine behind containerd's shim.
//!
//! [`MsbShim`] is the runtime that the program `containerd-shim-msb-v1` serves. Its [`SandboxPod`] is one container in
//! one sandbox: the sandbox boots in `Create`, from containerd's image in the store of `/var/lib/msb`. The container has
//! the root filesystem of the sandbox, and the plan that the bundle's `config.json` becomes.
//!
//! ```text
//! config.json  -> oci-spec-plan -> the plan, the size of the machine
//! containerd   -> container, snapshot, image -> the manifest whose layers the snapshot has
//!    content   -> blobs -> an OCI layout -> the store, unless it has the image
//! SDK          -> a sandbox of the image, owned: it ends with the shim
//! agent        <- the plan: Create, Start, Exec, Signal …
//! ```
//!
//! ```
//! use msb_containerd_machine::MsbShim;
//! use msb_containerd_shim::Shim as _;
//!
//! assert_eq!(MsbShim.name(), "io.containerd.msb.v1");
//! assert_eq!(MsbShim.mounts().types, ["erofs"]);
//! ```
//!
//! Limits: one container a machine; pods of the CRI, binds of files of the host, and networks are refused by name.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod client;
mod engine;
mod image;
mod name;
mod pod;
mod shim;
mod size;
mod specification;

pub use pod::SandboxPod;
pub use shim::MsbShim;
