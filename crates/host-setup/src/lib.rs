//! The commands that prepare a host for virtual machines: of its package manager, and for KVM.
//!
//! Nothing is run or changed. A [`Host`] is what decides about the commands: its distribution, its
//! processor, and whether this process is root.
//!
//! ```
//! use host_setup::{Distribution, Host};
//!
//! let host = Host {
//!     distribution: Distribution::parse("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"),
//!     is_root: false,
//!     kvm_module: "kvm_amd",
//! };
//! let step = host.install_qemu().ok_or("Debian has QEMU")?;
//! assert!(step.command.starts_with("sudo apt-get install qemu-system-"));
//! // Debian has no package of a guest kernel.
//! assert_eq!(host.install_kernel(), None);
//! # Ok::<(), &str>(())
//! ```

#![forbid(unsafe_code)]

mod distribution;
mod host;

pub use distribution::Distribution;
pub use host::{Host, SetupStep};
