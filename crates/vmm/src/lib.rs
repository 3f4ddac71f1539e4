//! What a virtual machine is, for every VMM backend.
//!
//! A [`Machine`] is a description: which kernel, which disks in which order, how much memory. A
//! [`Vmm`] is who runs it. The description is plain data, so the process that decides what to run
//! need not link the code that runs it.

mod machine;

use std::os::fd::OwnedFd;

pub use machine::{AGENT_PORT_NAME, Disk, DiskAccess, DiskFormat, Machine, SERIAL_MAX_BYTES};

/// A hypervisor, or an emulator that plays one.
pub trait Vmm {
    /// What `--vmm` calls it.
    fn name(&self) -> &'static str;

    /// Whether this host can run it now.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    fn probe(&self) -> Result<(), Unavailable>;

    /// Runs `machine` until the guest powers off. `agent_port` is one end of a stream socket pair;
    /// the guest finds the other end as the virtio-console port [`AGENT_PORT_NAME`].
    ///
    /// A backend may end the calling process instead of returning, so the caller keeps nothing
    /// behind this call that must still happen: give each machine a process of its own.
    ///
    /// # Errors
    /// When the machine could not be started, or ended otherwise than by the guest's power-off.
    fn run(&self, machine: &Machine, agent_port: OwnedFd) -> Result<(), RunError>;
}

/// Why a VMM cannot run on this host.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    /// What is missing: a lower-case fragment.
    pub reason: String,
    /// What the user can do about it, one sentence.
    pub remedy: String,
}

/// Why a machine did not run, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The host side of starting it failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried: "start qemu-system-x86_64".
        action: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The description asks for what this VMM cannot give.
    #[error("{vmm} cannot run this machine: {reason}")]
    Input {
        /// Which VMM.
        vmm: &'static str,
        /// What it cannot give.
        reason: String,
    },
    /// The VMM itself refused or died.
    #[error("{vmm} ended with {outcome}")]
    Failed {
        /// Which VMM.
        vmm: &'static str,
        /// Its exit status or error number, with what it said.
        outcome: String,
    },
}
